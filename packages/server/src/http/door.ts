/**
 * What every request passes before its route: the host that it names, the site that it comes from, its caller, its size and its rate. The
 * order matters: a request for another host or from another site learns nothing, not even that it lacks a token.
 */
import { Refusal } from './problem.ts';
import type { Rates } from './limits.ts';
import { mayUse, type Access, type Who } from '../auth/who.ts';

export interface DoorOptions {
  /** Hosts with their port, in lower case. Null: every host, behind a proxy that checks it. */
  readonly hosts: ReadonlySet<string> | null;
  /** Origins of pages elsewhere that may call. */
  readonly origins: ReadonlySet<string>;
  readonly bodyBytes: number;
  readonly depth: number;
}

/** DNS rebinding: a name of an attacker may lead to this machine, but the request still carries that name. */
export function demandHost(request: Request, { hosts }: Pick<DoorOptions, 'hosts'>): void {
  if (hosts === null) return;
  const host = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase();
  if (hosts.has(host)) return;
  throw new Refusal('wrong-host', 'this server does not answer for that host', {
    help: 'Use the address that the server printed, or name the host with `--host-name`.',
  });
}

/** A page of another site may send a request, but not this one. */
export function demandSite(request: Request, { origins }: Pick<DoorOptions, 'origins'>): void {
  const origin = request.headers.get('origin');
  const site = request.headers.get('sec-fetch-site');
  const host = (request.headers.get('host') ?? new URL(request.url).host).toLowerCase();
  const isOwn = origin === null || origins.has(origin) || (URL.canParse(origin) && new URL(origin).host === host);
  const isSameSite =
    site === null || site === 'same-origin' || site === 'none' || (origin !== null && origins.has(origin));
  if (isOwn && isSameSite) return;
  throw new Refusal('cross-site', 'a page of another site may not call this server', {
    help: 'Name the page with `--origin` when the server starts.',
  });
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
export async function readJson(
  request: Request,
  { bodyBytes, depth }: Pick<DoorOptions, 'bodyBytes' | 'depth'>,
): Promise<unknown> {
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

/** Stops counting one level below the limit. */
function depthOf(value: unknown, limit: number): number {
  if (typeof value !== 'object' || value === null) return 0;
  if (limit < 0) return 1;
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
