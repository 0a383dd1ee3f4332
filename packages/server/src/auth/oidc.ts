/**
 * People of an identity provider. The page logs in by authorization code with PKCE; programs send the JWT of the provider. Tenant and
 * access come from claims of the token, and a token without them gets nothing.
 */
import { createRemoteJWKSet, jwtVerify, type JWTPayload, type JWTVerifyGetKey } from 'jose';
import { SluiceError } from '@sluice-internal/engine/ports';
import { hashOf } from './secrets.ts';
import { ACCESS, seesContent, type Access, type Who } from './who.ts';

export interface OidcOptions {
  readonly issuer: string;
  /** The client of the page. */
  readonly client: string;
  readonly audience: string;
  readonly tenantClaim: string;
  readonly accessClaim: string;
}

/** Clocks may differ by this number of seconds. */
const SKEW_S = 60;
/** `none` and the symmetric algorithms are not among them. */
const ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
];
const DISCOVERY_MS = 10_000;

/** What the issuer sent back to the page. */
export interface GivenCode {
  readonly code: string;
  readonly verifier: string;
  readonly redirect: string;
}

export interface Discovered {
  readonly authorization: string;
  readonly token: string;
}

interface Known extends Discovered {
  readonly keys: JWTVerifyGetKey;
}

export class Oidc {
  readonly #options: OidcOptions;
  #found: Promise<Known> | null = null;

  constructor(options: OidcOptions) {
    this.#options = options;
  }

  /** What the page needs for a login. */
  async login(): Promise<{ readonly issuer: string; readonly client: string; readonly authorization: string }> {
    const { authorization } = await this.#discovered();
    return { issuer: this.#options.issuer, client: this.#options.client, authorization };
  }

  /** The caller of a JWT; null if it is not a valid one of this issuer and audience, or has no tenant or access. */
  async who(jwt: string): Promise<Who | null> {
    const { issuer, audience, tenantClaim, accessClaim } = this.#options;
    const { keys } = await this.#discovered();
    let payload: JWTPayload;
    try {
      ({ payload } = await jwtVerify(jwt, keys, {
        ...{ issuer, audience, algorithms: ALGORITHMS, clockTolerance: SKEW_S },
        requiredClaims: ['exp', 'sub'],
      }));
    } catch {
      return null;
    }
    const { sub = '', exp = 0, jti } = payload;
    const tenant = claimOf(payload, tenantClaim);
    const access = accessIn(claimOf(payload, accessClaim));
    if (sub === '' || typeof tenant !== 'string' || tenant === '' || access.length === 0) return null;
    const subject = `${issuer}#${sub}`;
    return {
      ...{ name: sub, tenant, access, person: null, key: `oidc:${subject}`, tokenName: null },
      ...{ content: seesContent(access, false), expiresAt: exp * 1000 },
      proof: {
        via: 'oidc',
        issuer,
        subject: sub,
        token: typeof jti === 'string' && jti !== '' ? jti : hashOf(jwt).slice(0, 16),
      },
    };
  }

  /** The caller of an authorization code. Only who made the verifier can use the code. */
  async redeem({ code, verifier, redirect }: GivenCode): Promise<Who | null> {
    const { client } = this.#options;
    const { token } = await this.#discovered();
    const body = new URLSearchParams({
      ...{ grant_type: 'authorization_code', client_id: client },
      ...{ code, code_verifier: verifier, redirect_uri: redirect },
    });
    const response = await fetch(token, {
      ...{ method: 'POST', body, signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' },
      headers: { accept: 'application/json' },
    }).catch((error: unknown) => {
      throw this.#refusal('does not answer', error);
    });
    const found = (await response.json().catch(() => ({}))) as { readonly [field: string]: unknown };
    const jwt = [found['id_token'], found['access_token']].find((each) => typeof each === 'string');
    return response.ok && typeof jwt === 'string' ? this.who(jwt) : null;
  }

  #refusal(why: string, cause?: unknown): SluiceError {
    const { issuer } = this.#options;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    return new SluiceError(
      'bad-issuer',
      `the OIDC issuer \`${issuer}\` ${why}`,
      `Open \`${url}\` in a browser.`,
      cause,
    );
  }

  #discovered(): Promise<Known> {
    const found = (this.#found ??= this.#discover());
    // The issuer may be back at the next request.
    found.catch(() => {
      if (this.#found === found) this.#found = null;
    });
    return found;
  }

  async #discover(): Promise<Known> {
    const { issuer } = this.#options;
    const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const refuse = (why: string, cause?: unknown): SluiceError => this.#refusal(why, cause);
    const response = await fetch(url, { signal: AbortSignal.timeout(DISCOVERY_MS), redirect: 'error' }).catch(
      (error: unknown) => {
        throw refuse('does not answer', error);
      },
    );
    if (!response.ok) throw refuse(`answers ${response.status}`);
    const found = (await response.json().catch(() => ({}))) as { readonly [field: string]: unknown };
    if (found['issuer'] !== issuer) throw refuse(`calls itself \`${String(found['issuer'])}\``);
    const address = (field: string): string => {
      const value = found[field];
      if (typeof value !== 'string' || !URL.canParse(value)) throw refuse(`names no \`${field}\``);
      return value;
    };
    return {
      authorization: address('authorization_endpoint'),
      token: address('token_endpoint'),
      keys: createRemoteJWKSet(new URL(address('jwks_uri'))),
    };
  }
}

/** A claim by its name; `a.b` is a field of a claim, unless a claim has that very name. */
function claimOf(payload: JWTPayload, name: string): unknown {
  if (Object.hasOwn(payload, name)) return payload[name];
  let value: unknown = payload;
  for (const part of name.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as { readonly [field: string]: unknown })[part];
  }
  return value;
}

/** A list, or words with blanks or commas between them. Other words are not an access. */
function accessIn(claim: unknown): readonly Access[] {
  const words = Array.isArray(claim) ? claim : typeof claim === 'string' ? claim.split(/[\s,]+/) : [];
  return ACCESS.filter((access) => words.includes(access));
}
