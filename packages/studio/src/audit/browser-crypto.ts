/** SHA-256 and Ed25519 of the browser, for the check of a chain. */
import type { checkChain } from '@sluice-internal/wire';

/** Browsers compute hashes only over https, or on this machine. */
export function canCheck(): boolean {
  return isSecureContext;
}

const PREFIX = 'ed25519:';

export const browserCrypto: Parameters<typeof checkChain>[1] = {
  sha256: async (text) => {
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
    return base64(new Uint8Array(digest)).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
  },
  verify: async (key, signature, text) => {
    try {
      const bytes = bytesOf(key.slice(PREFIX.length));
      const known = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify']);
      return await crypto.subtle.verify('Ed25519', known, bytesOf(signature), new TextEncoder().encode(text));
    } catch {
      return false;
    }
  },
};

function base64(bytes: Uint8Array): string {
  let text = '';
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  const plain = atob(text.replaceAll('-', '+').replaceAll('_', '/'));
  return Uint8Array.from(plain, (each) => each.charCodeAt(0));
}
