/** Random secrets, and their comparison in constant time. */
import { hash, randomBytes, timingSafeEqual } from 'node:crypto';

/** 32 random bytes, so that they cannot be guessed and a plain hash of them is enough. */
export function newSecret(prefix: string): string {
  return `${prefix}${randomBytes(32).toString('base64url')}`;
}

export function hashOf(secret: string): string {
  return hash('sha256', secret, 'base64url');
}

/** Compares the bytes, whatever their number is. */
export function isSame(one: string, other: string): boolean {
  const [a, b] = [hash('sha256', one, 'buffer'), hash('sha256', other, 'buffer')];
  return timingSafeEqual(a, b);
}
