/**
 * What every request passes before its route: the host that it names, the site that it comes from, its caller, its size and its rate. The
 * order matters: a request for another host or from another site learns nothing, not even that it lacks a token.
 */
import { Refusal } from './problem.ts';
import type { Rates } from './limits.ts';
import { mayUse, type Access, type Who } from '../auth/who.ts';

export interface DoorOptions {
  /** The hosts, in lower case. Null: every host, because a program around the server checks it. */
  readonly hosts: ((host: string) => boolean) | null;
  /** Origins of pages elsewhere that may call. */
  readonly origins: ReadonlySet<string>;
  /** A proxy in front says under which name, and over which protocol, it was called. */
  readonly trustProxy: boolean;
}

/** The host and the protocol of a request, as the caller sees them. */
export function addressOf(
  request: Request,
  { trustProxy }: Pick<DoorOptions, 'trustProxy'>,
): { readonly host: string; readonly isSecure: boolean } {
  const { headers, url } = request;
  const asked = new URL(url);
  const forwarded = (name: string): string | null => (trustProxy ? lastOf(headers.get(name)) : null);
  const host = forwarded('x-forwarded-host') ?? headers.get('host') ?? asked.host;
  const protocol = forwarded('x-forwarded-proto') ?? asked.protocol.slice(0, -1);
  return { host: host.toLowerCase(), isSecure: protocol === 'https' };
}

/** The proxy in front appends its own value: those before it come from the caller. */
function lastOf(list: string | null): string | null {
  return list?.split(',').at(-1)?.trim() ?? null;
}

/** DNS rebinding: a name of an attacker may lead to this machine, but the request still carries that name. */
export function demandHost(request: Request, door: DoorOptions): void {
  if (door.hosts === null || door.hosts(addressOf(request, door).host)) return;
  throw new Refusal('wrong-host', 'this server does not answer for that host', {
    help: 'Use the address that the server printed, or name the host with `--host-name`.',
  });
}

/** A page of another site may send a request, but not this one. */
export function demandSite(request: Request, door: DoorOptions): void {
  if (door.hosts === null || allowedOrigin(request, door) !== null) return;
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  const { host, isSecure } = addressOf(request, door);
  const isOwn = origin === null || origin.toLowerCase() === `${isSecure ? 'https' : 'http'}://${host}`;
  if (isOwn && (site === null || site === 'same-origin' || site === 'none')) return;
  throw new Refusal('cross-site', 'a page of another site may not call this server', {
    help: 'Name the page with `--origin` when the server starts.',
  });
}

/** The origin of a page elsewhere that was named at the start; null for every other request. */
export function allowedOrigin({ headers }: Request, { origins }: DoorOptions): string | null {
  const origin = headers.get('origin');
  return origin !== null && origins.has(origin) ? origin : null;
}

/** A link of another site opens a page. That page reads nothing but what its own requests get. */
export function isPageVisit({ method, headers, url }: Request): boolean {
  const isVisit = headers.get('sec-fetch-mode') === 'navigate' && headers.get('sec-fetch-dest') === 'document';
  return method === 'GET' && isVisit && !/^\/(v1|openapi|metrics|healthz|readyz)\b/.test(new URL(url).pathname);
}

/** A client that is newer than the server may ask for what the server does not know yet. */
export function demandVersion({ headers }: Request, version: string): void {
  const given = headers.get('sluice-version');
  if (given === null || !isNewer(given, version)) return;
  throw new Refusal('too-old', `the client is of version ${given.slice(0, 20)}, and this server of ${version}`, {
    help: 'Bring the server up to date, or use the client of its version.',
  });
}

/** Versions 0.x may change with each minor. */
function isNewer(given: string, own: string): boolean {
  const parts = (text: string): readonly number[] => text.split('.').slice(0, 2).map(Number);
  const [[major = 0, minor = 0], [ownMajor = 0, ownMinor = 0]] = [parts(given), parts(own)];
  return major > ownMajor || (major === ownMajor && major === 0 && minor > ownMinor);
}

/** What a body may be. */
export interface BodyLimits {
  readonly bodyBytes: number;
  readonly depth: number;
}

/** A request that changes something says that it is JSON. A form of another site cannot, without a question first. */
export function demandJson(request: Request): void {
  const type = request.headers.get('content-type') ?? '';
  if (/^application\/json\s*(;|$)/i.test(type)) return;
  throw new Refusal('unsupported-media-type', 'the body must be JSON', {
    help: 'Send `Content-Type: application/json`.',
  });
}

/** The body as JSON. Its size is counted while it is read, whatever the headers say. */
export async function readJson(request: Request, { bodyBytes, depth }: BodyLimits): Promise<unknown> {
  const bytes = await readBytes(request, bodyBytes);
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new Refusal('bad-request', 'the body is not UTF-8');
  }
  if (text.trim() === '')
    throw new Refusal('bad-request', 'the body is empty', { help: 'Send a JSON object, such as {}.' });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Refusal('bad-request', 'the body is not valid JSON');
  }
  if (depthOf(value, depth) > depth)
    throw new Refusal('bad-request', `the body is nested more than ${depth} levels deep`);
  return value;
}

/** Its size is counted while it is read, whatever the headers say. */
export async function readBytes(request: Request, max: number): Promise<Uint8Array<ArrayBuffer>> {
  const tooLarge = (): Refusal =>
    new Refusal('body-too-large', `the body has more than ${max} bytes`, { help: 'Send large files as attachments.' });
  if (Number(request.headers.get('content-length') ?? 0) > max) throw tooLarge();
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of request.body ?? []) {
    size += part.byteLength;
    if (size > max) throw tooLarge();
    parts.push(part);
  }
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

/** Stops counting one level below the limit. A `__proto__` would be lost on the way, and what a caller sends is not lost. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (limit < 0) return 1;
  if (Object.hasOwn(value, '__proto__')) throw new Refusal('bad-request', 'the body has a key `__proto__`');
  let deepest = 0;
  for (const each of Object.values(value)) deepest = Math.max(deepest, depthOf(each, limit - 1));
  return deepest + 1;
}

export function demandAccess(who: Who | null, needed: Access | null, isOpen: boolean): void {
  if (isOpen) return;
  if (who === null)
    throw new Refusal('unauthenticated', 'this needs a token', {
      help: 'Send `Authorization: Bearer TOKEN`. Make one with `sluice tokens add`.',
      headers: { 'www-authenticate': 'Bearer' },
    });
  if (mayUse(who, needed)) return;
  throw new Refusal('access-denied', `this needs the access \`${needed ?? 'viewer'}\``, {
    help: 'Ask an admin for a token with this access.',
  });
}

export function demandRate(rates: Rates, caller: string): void {
  const after = rates.take(caller);
  if (after === null) return;
  throw new Refusal('too-many-requests', 'too many requests', {
    help: 'Wait, then try again.',
    headers: { 'retry-after': String(after) },
  });
}
