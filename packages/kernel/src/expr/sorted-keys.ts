/** The keys of an object in order. Most objects have them in order already, and a sort copies the list. */
export function sortedKeys(object: object): readonly string[] {
  const keys = Object.keys(object);
  return areSorted(keys) ? keys : keys.sort();
}

export function areSorted(keys: readonly string[]): boolean {
  for (let index = 1; index < keys.length; index++)
    if ((keys[index - 1] as string) > (keys[index] as string)) return false;
  return true;
}
