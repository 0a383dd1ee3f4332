/** Uses a store and closes it, also after an error. */
export async function closing<Opened extends { close(): void | Promise<void> }, Result>(
  store: Opened,
  use: (store: Opened) => Result | Promise<Result>,
): Promise<Result> {
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}
