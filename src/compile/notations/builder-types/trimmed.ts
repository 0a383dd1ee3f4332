/** A text without the blanks around it. */
export type Trimmed<Text extends string> = Text extends `${Blank}${infer Rest}`
  ? Trimmed<Rest>
  : Text extends `${infer Rest}${Blank}`
    ? Trimmed<Rest>
    : Text;

export type Blank = ' ' | '\n' | '\t' | '\r';
