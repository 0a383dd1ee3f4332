/** The cookie of a session. It is for this server alone, and no script of the page can read it. */
export function sessionCookie(
  name: string,
  secret: string,
  { maxAge, isSecure }: { readonly maxAge: number; readonly isSecure: boolean },
): string {
  return `${name}=${secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age=${maxAge}${isSecure ? '; Secure' : ''}`;
}

/** The value of a cookie of a request; null without one. */
export function cookieOf(request: Request, name: string): string | null {
  for (const part of (request.headers.get('cookie') ?? '').split(';')) {
    const [key = '', ...value] = part.trim().split('=');
    if (key === name) return value.join('=');
  }
  return null;
}
