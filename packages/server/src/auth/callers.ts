/** Finds out who calls: by a token, by a JWT, or by the session of a page. */
import { samePerson } from '@sluice-internal/kernel/ir';
import type { Oidc } from './oidc.ts';
import type { Sessions } from './sessions.ts';
import type { Tokens } from './tokens.ts';
import type { Who } from './who.ts';

export interface CallersOptions {
  readonly tokens: Tokens;
  readonly sessions: Sessions;
  readonly oidc: Oidc | null;
  /** The people of the served documents whose `login` this is. */
  readonly peopleOf: (login: string) => readonly string[];
}

/** `refused`: the credentials are no longer, or never were, good. `stranger`: they are good, and name a person that has another login. */
export type Called = Who | null | 'refused' | 'stranger';

export class Callers {
  readonly #options: CallersOptions;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** Null: the request has no credentials. Those in a header count before a cookie. */
  async of(authorization: string | null, session: string | null): Promise<Called> {
    const { sessions } = this.#options;
    if (authorization !== null) {
      const [, secret] = /^Bearer +(\S+) *$/i.exec(authorization) ?? [];
      return secret === undefined ? 'refused' : this.ofSecret(secret);
    }
    const who = session === null ? null : sessions.who(session);
    if (who === null) return null;
    // A session is no better than the token that began it.
    return (await this.holds(who)) ? this.#current(who) : null;
  }

  async ofSecret(secret: string): Promise<Who | 'refused' | 'stranger'> {
    const { tokens, oidc } = this.#options;
    const who = secret.startsWith('slk_') ? await tokens.who(secret) : ((await oidc?.who(secret)) ?? null);
    return who === null ? 'refused' : this.#current(who);
  }

  /** True until the token expires or is revoked, or its person is taken from the documents. */
  async holds(who: Who): Promise<boolean> {
    if (who.expiresAt !== null && who.expiresAt <= Date.now()) return false;
    if (who.tokenName !== null && !(await this.#options.tokens.holds(who.tokenName))) return false;
    const now = this.#current(who);
    return now !== 'stranger' && now.person === who.person;
  }

  /** The documents say who a login is, also when they change. */
  #current(who: Who): Who | 'stranger' {
    const { proof, person } = who;
    if (proof === null) return who;
    const named = this.#options.peopleOf(proof.via === 'token' ? proof.subject : `${proof.issuer}#${proof.subject}`);
    if (proof.via === 'oidc') {
      const [only] = named;
      return { ...who, person: only !== undefined && named.every((each) => samePerson(each, only)) ? only : null };
    }
    if (person === null) return who;
    return named.length > 0 && named.every((each) => samePerson(each, person)) ? who : 'stranger';
  }
}
