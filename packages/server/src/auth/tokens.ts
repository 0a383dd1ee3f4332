/**
 * Tokens of programs and people: 32 random bytes, shown once. The database keeps a hash, so nobody who reads it can use a token.
 * Every process reads the same list: a token that was revoked stops working everywhere.
 */
import { isRecord, type Json } from '@sluice-internal/kernel/expr';
import { SluiceError } from '@sluice-internal/engine/ports';
import { hashOf, isSame, newSecret } from './secrets.ts';
import { seesContent, type Access, type Who } from './who.ts';

/** The values of a database that its processes share. */
export interface TokenCells {
  read(key: string): Promise<Json>;
  /** Changes a value, and records the act of the operator. */
  change(
    act: { readonly by: string; readonly what: string; readonly why: string; readonly key: string },
    change: (value: Json) => Json,
  ): Promise<void>;
  /** Changes a value that no operator changed by hand. */
  note(key: string, change: (value: Json) => Json): Promise<void>;
}

export interface Token {
  readonly name: string;
  readonly hash: string;
  readonly access: readonly Access[];
  readonly person: string | null;
  readonly tenant: string | null;
  readonly content: boolean;
  readonly createdAt: number;
  readonly expiresAt: number | null;
}
/** A token as lists show it. */
export interface ListedToken extends Omit<Token, 'hash'> {
  readonly usedAt: number | null;
}
export interface NewToken {
  readonly name: string;
  readonly access: readonly Access[];
  readonly person?: string | undefined;
  readonly tenant?: string | undefined;
  readonly days?: number | undefined;
  readonly content?: boolean | undefined;
}

/** The name of the token of this process; no other can have it. */
export const OWN = 'local';
const KEY = 'server.tokens';
const USED = 'server.tokens.used';
const PREFIX = 'slk_';
const DAY_MS = 86_400_000;
/** The list is read again after this time, so that a revoked token ends within it. */
const FRESH_MS = 1000;
/** The last use is stored at most this often. */
const NOTED_MS = 60_000;

export class Tokens {
  readonly #cells: TokenCells;
  readonly #now: () => number;
  readonly #noted = new Map<string, number>();
  #own: { readonly hash: string; readonly who: Who } | null = null;
  #known: { readonly at: number; readonly tokens: Promise<readonly Token[]> } | null = null;

  constructor(cells: TokenCells, now: () => number = Date.now) {
    this.#cells = cells;
    this.#now = now;
  }

  /** The secret is in the result, and nowhere else. */
  async add(given: NewToken, by: string): Promise<Token & { readonly token: string }> {
    const { name, access, person = null, tenant = null, days, content = false } = given;
    if (!/^[A-Za-z0-9][\w.-]{0,63}$/.test(name))
      throw new SluiceError(
        'bad-token',
        `\`${name}\` is no name of a token`,
        'Use 1 to 64 letters, digits, dots and dashes.',
      );
    if (name === OWN)
      throw new SluiceError('bad-token', `\`${OWN}\` is the token of each server itself`, 'Choose another name.');
    if (access.length === 0) throw new SluiceError('bad-token', 'a token needs an access', 'Try `--access viewer`.');
    const token = newSecret(PREFIX);
    const now = this.#now();
    const added: Token = {
      ...{ name, hash: hashOf(token), access: [...new Set(access)], person, tenant, content, createdAt: now },
      expiresAt: days === undefined ? null : now + days * DAY_MS,
    };
    const why = `${access.join(', ')}${person === null ? '' : ` for ${person}`}${tenant === null ? '' : ` of ${tenant}`}`;
    await this.#change({ by, what: 'token.added', why, key: KEY }, (tokens) => {
      if (tokens.some((each) => each.name === name))
        throw new SluiceError(
          'token-exists',
          `there is a token \`${name}\``,
          'Choose another name, or revoke it first.',
        );
      return [...tokens, added];
    });
    return { ...added, token };
  }

  async list(): Promise<readonly ListedToken[]> {
    const used = (await this.#cells.read(USED)) as { readonly [name: string]: number } | null;
    return (await this.#read()).map(({ hash: _hash, ...token }) => ({ ...token, usedAt: used?.[token.name] ?? null }));
  }

  async revoke(name: string, by: string): Promise<void> {
    await this.#change({ by, what: 'token.revoked', why: name, key: KEY }, (tokens) => {
      const left = tokens.filter((each) => each.name !== name);
      if (left.length < tokens.length) return left;
      throw new SluiceError('token-not-found', `there is no token \`${name}\``, 'List them with `sluice tokens list`.');
    });
  }

  /** A token of this process, which is in no list. */
  takeOwn(secret: string, who: Who): void {
    this.#own = { hash: hashOf(secret), who };
  }

  /** The caller that a token stands for; null if it is unknown, expired or revoked. */
  async who(secret: string): Promise<Who | null> {
    if (!secret.startsWith(PREFIX)) return null;
    const hash = hashOf(secret);
    if (this.#own !== null && isSame(this.#own.hash, hash)) return this.#own.who;
    const found = (await this.#fresh()).find((token) => isSame(token.hash, hash));
    if (found === undefined || isOver(found, this.#now())) return null;
    this.#note(found.name);
    const { name, person, tenant, access, content, expiresAt } = found;
    return {
      ...{ name, person, tenant, access, expiresAt, key: `token:${name}`, tokenName: name },
      content: seesContent(access, content),
      proof: { via: 'token', issuer: 'sluice', subject: `token:${name}`, token: hash.slice(0, 16) },
    };
  }

  /** True until the token expires or is revoked. */
  async holds(name: string): Promise<boolean> {
    if (name === OWN) return this.#own !== null;
    return (await this.#fresh()).some((token) => token.name === name && !isOver(token, this.#now()));
  }

  async #fresh(): Promise<readonly Token[]> {
    const now = this.#now();
    if (this.#known === null || now - this.#known.at >= FRESH_MS) this.#known = { at: now, tokens: this.#read() };
    return this.#known.tokens;
  }

  async #read(): Promise<readonly Token[]> {
    return tokensIn(await this.#cells.read(KEY));
  }

  async #change(
    act: Parameters<TokenCells['change']>[0],
    change: (tokens: readonly Token[]) => readonly Token[],
  ): Promise<void> {
    await this.#cells.change(act, (value) => change(tokensIn(value)) as unknown as Json);
    this.#known = null;
  }

  #note(name: string): void {
    const now = this.#now();
    if (now - (this.#noted.get(name) ?? -Infinity) < NOTED_MS) return;
    this.#noted.set(name, now);
    // A request does not wait for it, and does not fail with it.
    this.#cells.note(USED, (value) => ({ ...(isRecord(value) ? value : {}), [name]: now })).catch(() => undefined);
  }
}

function tokensIn(value: Json): readonly Token[] {
  return Array.isArray(value) ? (value as unknown as readonly Token[]) : [];
}

function isOver({ expiresAt }: Token, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}
