/** Small functions over values. */
/** The object without the fields that are undefined, for options that may be left out but must not be undefined. */
export function defined<Fields extends object>(
  fields: Fields,
): { [name in keyof Fields]?: Exclude<Fields[name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never;
}
