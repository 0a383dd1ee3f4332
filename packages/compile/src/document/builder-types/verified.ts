/**
 * The given type if it is valid, and the wanted type otherwise. The compiler error is then at the wrong field and names the types
 * that are allowed there. An unknown key in a literal is an error too.
 */

export type Verified<Given, Wanted> = Given extends Wanted
  ? [Others<Given, Wanted>] extends [never]
    ? Given
    : Wanted
  : Wanted;

/** The names, or a sentence if the list is empty: the type `never` would not explain the error. */
export type OneOf<Names, Otherwise> = [Names] extends [never] ? Otherwise : Names;

/** The keys that are not wanted, at any depth. They are gathered, because to compare a type without them is slow. */
type Others<Given, Wanted> = unknown extends Wanted
  ? never
  : Given extends readonly unknown[]
    ? { [Index in keyof Given]: Others<Given[Index], ItemAt<Wanted, Index>> }[number]
    : Given extends object
      ? { [Key in keyof Given]-?: Key extends KeyOf<Wanted> ? Others<Given[Key], At<Wanted, Key>> : Key }[keyof Given]
      : never;

/** The keys of any member of a union, where `keyof` would give those of all. */
type KeyOf<Wanted> = Wanted extends unknown ? keyof Wanted : never;
type At<Wanted, Key> = Wanted extends unknown ? (Key extends keyof Wanted ? Wanted[Key] : never) : never;
type ItemAt<Wanted, Index> = Wanted extends readonly unknown[]
  ? Index extends keyof Wanted
    ? Wanted[Index]
    : Wanted[number]
  : never;

export type Trimmed<Text extends string> = Text extends `${Blank}${infer Rest}`
  ? Trimmed<Rest>
  : Text extends `${infer Rest}${Blank}`
    ? Trimmed<Rest>
    : Text;

export type Blank = ' ' | '\n' | '\t' | '\r';
