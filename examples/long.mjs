/** Scans pages, one in half a second. */
export async function scan({ pages }, { heartbeat, signal }) {
  for (let page = 1; page <= pages; page++) {
    await new Promise((resolve) => setTimeout(resolve, 500));
    signal.throwIfAborted();
    heartbeat();
  }
  return { scanned: pages };
}
