/** The fields that have a value, for objects in which an absent field must not be a key. */
export function present<const Fields extends object>(fields: Fields): Present<Fields> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Present<Fields>;
}

type Present<Fields> = {
  [Key in keyof Fields as undefined extends Fields[Key] ? never : Key]: Fields[Key];
} & { [Key in keyof Fields as undefined extends Fields[Key] ? Key : never]?: Exclude<Fields[Key], undefined> };
