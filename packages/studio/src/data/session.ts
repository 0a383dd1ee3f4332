/** Who is at the page: a code of the terminal, a pasted token, or a login at an issuer becomes the cookie of this page. */
import { ask, post, queries, sessionQuery } from './server.ts';
import type { Me, Session } from './types.ts';

const VERIFIER = 'sluice-login';

/** The code of the address works once, so it leaves the address at once. */
export async function beginSession(): Promise<Session> {
  const code = /[#&]code=([^&]+)/.exec(location.hash)?.[1];
  if (code !== undefined) {
    history.replaceState(null, '', location.pathname + location.search);
    await post('/session', { code: decodeURIComponent(code) }).catch(() => undefined);
  }
  await finishLogin();
  return ask<Session>('/session');
}

export async function logInWithToken(token: string): Promise<void> {
  const me = await post<Me>('/session', { token });
  const login = queries.getQueryData(sessionQuery.queryKey)?.login ?? null;
  queries.setQueryData(sessionQuery.queryKey, { me, login });
  await queries.invalidateQueries();
}

export async function logOut(): Promise<void> {
  await ask('/session', { method: 'DELETE' });
  location.assign('/');
}

/** Leaves for the issuer: authorization code with PKCE. */
export async function logInAtIssuer({ client, authorization }: NonNullable<Session['login']>): Promise<void> {
  const verifier = base64url(crypto.getRandomValues(new Uint8Array(48)));
  const state = base64url(crypto.getRandomValues(new Uint8Array(16)));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  sessionStorage.setItem(VERIFIER, JSON.stringify({ verifier, state, back: location.pathname + location.search }));
  const asked = new URLSearchParams({
    ...{ response_type: 'code', client_id: client, redirect_uri: `${location.origin}/`, scope: 'openid', state },
    ...{ code_challenge: base64url(new Uint8Array(digest)), code_challenge_method: 'S256' },
  });
  location.assign(`${authorization}${authorization.includes('?') ? '&' : '?'}${asked.toString()}`);
}

/** Back from the issuer. An answer to a login that this page did not begin is not used. */
async function finishLogin(): Promise<void> {
  const given = new URLSearchParams(location.search);
  const [code, state] = [given.get('code'), given.get('state')];
  const kept = sessionStorage.getItem(VERIFIER);
  if (code === null || state === null || kept === null) return;
  sessionStorage.removeItem(VERIFIER);
  const begun = JSON.parse(kept) as { readonly verifier: string; readonly state: string; readonly back: string };
  history.replaceState(null, '', begun.state === state ? begun.back : '/');
  if (begun.state !== state) return;
  const login = { code, verifier: begun.verifier, redirect: `${location.origin}/` };
  await post('/session', { login }).catch(() => undefined);
}

function base64url(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
