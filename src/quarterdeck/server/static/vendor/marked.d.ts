// What the control room uses of it: the text as tokens, never as HTML.
export interface Token {
  type: string;
  raw: string;
  text?: string;
  tokens?: Token[];
  [key: string]: any;
}
export class Marked {
  constructor(options?: object);
  lexer(text: string): Token[];
}
