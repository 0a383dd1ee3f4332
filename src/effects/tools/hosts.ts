/**
 * Whom a request may go to. A host must be on the list; every address it resolves to must be public unless the host is
 * named as private; and the connection is made to one of the addresses that were looked at, so that a second answer of the
 * resolver changes nothing.
 */
import { lookup } from 'node:dns/promises';
import type { HttpOptions } from './tool.ts';
import { fail, reasonOf } from './tool.ts';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

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

const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.31.196.0/24',
  '192.52.193.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '192.175.48.0/24',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
];
/** Only 2000::/3 is global at all, and these parts of it are not, or carry a version 4 address. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = new BlockList();
const global = new BlockList();
for (const range of SPECIAL_V4) special.addSubnet(...split(range), 'ipv4');
for (const range of SPECIAL_V6) special.addSubnet(...split(range), 'ipv6');
global.addSubnet('2000::', 3, 'ipv6');

export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  if (isIPv4(bare)) return !special.check(bare, 'ipv4');
  return isIPv6(bare) && global.check(bare, 'ipv6') && !special.check(bare, 'ipv6');
}

/** A host that is an address, without the brackets of version 6. */
export function addressIn(host: string): string | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? null : bare;
}

function split(range: string): [string, number] {
  const [net = '', prefix = ''] = range.split('/');
  return [net, Number(prefix)];
}
