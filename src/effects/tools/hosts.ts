/**
 * Whom a request may go to. A host must be on the list; every address it resolves to must be public unless the host is
 * named as private; and the connection is made to one of the addresses that were looked at, so that a second answer of the
 * resolver changes nothing.
 */
import { lookup } from 'node:dns/promises';
import type { HttpOptions } from './context.ts';
import { addressIn, isPublicAddress } from './addresses.ts';
import { fail, reasonOf } from './fail.ts';

export interface Allowed {
  readonly hosts: readonly string[];
  readonly privateHosts: readonly string[];
}

export async function addressesOf(
  url: URL,
  allowed: Allowed,
  resolve: HttpOptions['resolve'] = systemResolve,
): Promise<readonly string[]> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw denied(`\`${url.protocol}\` addresses are not called`);
  if (url.username !== '' || url.password !== '') throw denied('an address with credentials in it is not called');
  const host = hostOf(url);
  if (!allowed.hosts.some((pattern) => matches(host, pattern))) throw denied(`the host \`${host}\` is not allowed`);
  const literal = addressIn(host);
  const addresses = literal === null ? await resolved(host, resolve) : [literal];
  if (addresses.length === 0) throw fail('transient', 'DnsError', `the host \`${host}\` has no address`);
  if (allowed.privateHosts.some((pattern) => matches(host, pattern))) return addresses;
  const inside = addresses.find((address) => !isPublicAddress(address));
  if (inside !== undefined) throw denied(`the host \`${host}\` has the address ${inside}, which is not public`);
  return addresses;
}

export function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, '');
}

function matches(host: string, pattern: string): boolean {
  const wanted = pattern.toLowerCase();
  if (wanted === '*') return true;
  return wanted.startsWith('*.') ? host.endsWith(wanted.slice(1)) : host === wanted || addressIn(host) === wanted;
}

async function resolved(host: string, resolve: NonNullable<HttpOptions['resolve']>): Promise<readonly string[]> {
  try {
    return await resolve(host);
  } catch (error) {
    throw fail('transient', 'DnsError', `the host \`${host}\` cannot be resolved: ${reasonOf(error)}`);
  }
}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function denied(message: string): Error {
  return fail('policy', 'HostError', message);
}
