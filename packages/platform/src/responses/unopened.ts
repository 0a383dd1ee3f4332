/** Network errors of a connection that could not be opened: nothing was sent. A connection that breaks later has another code. */
const UNOPENED =
  /^(ECONNREFUSED|ENOTFOUND|EAI_AGAIN|EHOSTUNREACH|ENETUNREACH|UND_ERR_CONNECT_TIMEOUT|CERT_|ERR_TLS|ERR_SSL|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO)/;

export function isUnopened(error: unknown): boolean {
  const { code } = (error ?? {}) as { readonly code?: unknown };
  return typeof code === 'string' && UNOPENED.test(code);
}
