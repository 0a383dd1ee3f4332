/**
 * Sessions of browsers. A person opens the page with a code that works once and for a minute; the page exchanges it for a cookie. The
 * secret of a session is only in that cookie, and the sessions only in this process.
 */
import { newSecret, hashOf } from './secrets.ts';
import type { Who } from './who.ts';

const CODE_MS = 60_000;
const SESSION_MS = 12 * 3_600_000;
const SESSIONS_MAX = 1000;

interface Session {
  readonly who: Who;
  readonly expiresAt: number;
}

export class Sessions {
  readonly #codes = new Map<string, { readonly who: Who; readonly until: number }>();
  readonly #sessions = new Map<string, Session>();
  readonly #now: () => number;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** A code for the address of the page. */
  code(who: Who): string {
    const code = newSecret('');
    this.#codes.set(hashOf(code), { who, until: this.#now() + CODE_MS });
    return code;
  }

  /** The caller of a code, once. */
  redeem(code: string): Who | null {
    const key = hashOf(code);
    const found = this.#codes.get(key);
    this.#codes.delete(key);
    return found === undefined || found.until < this.#now() ? null : found.who;
  }

  /** A new session: its secret, and its age in seconds. */
  begin(who: Who): { readonly secret: string; readonly maxAge: number } {
    const now = this.#now();
    for (const [key, { expiresAt }] of this.#sessions) if (expiresAt <= now) this.#sessions.delete(key);
    // The oldest goes first: a person who opens the page again gets a new one.
    while (this.#sessions.size >= SESSIONS_MAX) this.#sessions.delete(this.#sessions.keys().next().value ?? '');
    const secret = newSecret('');
    const expiresAt = Math.min(now + SESSION_MS, who.expiresAt ?? Infinity);
    this.#sessions.set(hashOf(secret), { who: { ...who, expiresAt }, expiresAt });
    return { secret, maxAge: Math.max(0, Math.floor((expiresAt - now) / 1000)) };
  }

  /** The caller as it was when the session began. */
  who(secret: string): Who | null {
    const key = hashOf(secret);
    const found = this.#sessions.get(key);
    if (found === undefined) return null;
    if (found.expiresAt > this.#now()) return found.who;
    this.#sessions.delete(key);
    return null;
  }

  end(secret: string): void {
    this.#sessions.delete(hashOf(secret));
  }
}
