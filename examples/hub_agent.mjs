// An agent with nothing but a WebSocket: Node 22 and newer, Deno, Bun or a browser; it resumes where it was cut.
//   node examples/hub_agent.mjs ws://127.0.0.1:8101/ws qd_…
const [url, token] = process.argv.slice(2);
const open = new Map(); // stream_id -> { pieces, delivery }: what is being said, until it is a message
let socket;
let wait = 500;

const say = (type, data, ref) => socket.send(JSON.stringify({ type, data, ref }));

function answer(delivery) {
  const { project_id, chat_id, task_id, content, title } = delivery.event.data;
  const words = `You said: ${content ?? title ?? "…"}`.split(/(?<= )/); // put your model here
  const id = crypto.randomUUID();
  open.set(id, { pieces: words, delivery });
  say("agent.stream.start", task_id ? { stream_id: id, project_id, task_id } : { stream_id: id, project_id, chat_id }, `at ${id}`);
}

function goOn(id, from) {
  const { pieces } = open.get(id);
  for (let index = from; index < pieces.length; index++) say("agent.stream.delta", { stream_id: id, delta: pieces[index], index });
  say("agent.stream.end", { stream_id: id }, `end ${id}`);
}

function heard({ type, data, ref }) {
  const [what, id] = String(ref ?? "").split(" ");
  if (type === "auth.ok") for (const stream of open.keys()) say("agent.stream.resume", { stream_id: stream }, `at ${stream}`);
  const busy = [...open.values()].some((stream) => stream.delivery.delivery_id === data.delivery_id);
  if (type === "delivery" && !busy) data.wakes ? answer(data) : say("ack", { delivery_id: data.delivery_id });
  if (what === "at" && open.has(id) && type !== "error") goOn(id, data.next_index);
  if ((what === "end" && type === "ok") || (what === "at" && type === "error")) {
    const { delivery } = open.get(id);
    open.delete(id);
    if (data.code === "stream_not_found") answer(delivery); // it was cut before it had begun
    else say("ack", { delivery_id: delivery.delivery_id });
  }
  if (type === "auth.error" || type === "error") console.error(data.code, data.detail);
}

function connect() {
  socket = new WebSocket(url);
  socket.onopen = () => { wait = 500; say("auth", { token }); };
  socket.onmessage = (message) => heard(JSON.parse(message.data));
  socket.onclose = ({ reason }) => {
    if (reason.includes('"fatal":true')) return console.error(reason);
    setTimeout(connect, Math.random() * wait);
    wait = Math.min(wait * 2, 30_000);
  };
}

connect();
