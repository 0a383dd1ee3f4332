/** Signs an answer in the browser with the key of a person. The key stays in this page. */
import { answerText } from '@sluice-internal/wire';
import type { OpenQuestion } from '../data/types.ts';

export interface Signing {
  readonly choice: string;
  readonly edit?: unknown;
  readonly text?: string | undefined;
  readonly by: string;
  readonly at: number;
}

/** Keys of a browser need https, or this machine. */
export function canSign(): boolean {
  return isSecureContext;
}

/** The text that is signed. The page shows it. */
export function textToSign({ store, run, id, payload }: OpenQuestion, given: Signing): string {
  return answerText({ store, run, ask: id, payload, ...given });
}

export async function signText(pem: string, text: string): Promise<string> {
  const body = /-----BEGIN PRIVATE KEY-----([\s\S]*?)-----END PRIVATE KEY-----/.exec(pem)?.[1];
  if (body === undefined) throw new Error('This is no private key: it begins with -----BEGIN PRIVATE KEY-----');
  const bytes = Uint8Array.from(atob(body.replaceAll(/\s/g, '')), (each) => each.charCodeAt(0));
  const key = await crypto.subtle.importKey('pkcs8', bytes, 'Ed25519', false, ['sign']);
  const signature = await crypto.subtle.sign('Ed25519', key, new TextEncoder().encode(text));
  return btoa(String.fromCharCode(...new Uint8Array(signature)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');
}
