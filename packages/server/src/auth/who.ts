/** Who calls: decided once at the door, and nowhere else. A request cannot say who it is in its body, its query or a header of its own. */

export const ACCESS = ['viewer', 'operator', 'approver', 'admin'] as const;
export type Access = (typeof ACCESS)[number];

/** How the caller was proved. It goes into the journal with an answer. */
export interface Proof {
  readonly via: 'token' | 'oidc';
  /** Of a token: this server. Of OIDC: the issuer. */
  readonly issuer: string;
  readonly subject: string;
  /** The id of the token, or of the JWT. */
  readonly token: string;
}

export interface Who {
  /** The name of the token, or the subject. For logs and messages. */
  readonly name: string;
  readonly tenant: string | null;
  readonly person: string | null;
  readonly access: readonly Access[];
  readonly proof: Proof | null;
  /** Prompts, arguments and results may be seen. */
  readonly content: boolean;
  /** Requests and streams of one caller are counted together. */
  readonly key: string;
  /** The token that stands for the caller; null for other credentials. A session ends with it. */
  readonly tokenName: string | null;
  /** Milliseconds since 1970. Streams end then. */
  readonly expiresAt: number | null;
}

export function mayUse(who: Pick<Who, 'access'>, needed: Access | null): boolean {
  return needed === null || needed === 'viewer' || who.access.includes('admin') || who.access.includes(needed);
}

/** Content needs operator, approver or admin, or a token that says so. */
export function seesContent(access: readonly Access[], given: boolean): boolean {
  return given || access.some((each) => each !== 'viewer');
}
