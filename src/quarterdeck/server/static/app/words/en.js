// English, where the word of the interface is not what people say.
/** @type {Record<string, string>} */
export const en = {
  in_progress: "in progress",
  in_review: "in review",
  todo: "to do",
  waiting_for_approval: "waits for permission",
  waiting_for_password: "waits for a password",
  waiting_for_answer: "waits for an answer",
  built_in: "built in",
  when_unset: "when none is set",
  when_failing: "when theirs fails",
};
