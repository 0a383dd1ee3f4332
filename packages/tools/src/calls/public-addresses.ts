/**
 * Decides which hosts a request may go to. The host must be on the list. Every address that it resolves to must be public,
 * unless the host is listed as private. The connection uses one of the checked addresses, so a second lookup with another
 * answer changes nothing.
 */
import { reasonOf } from '@sluice-internal/kernel/expr';
import { failUnsent } from '@sluice-internal/engine/ports';
import { lookup } from 'node:dns/promises';
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';
import type { HttpOptions } from './tool.ts';

export interface Allowed {
  readonly hosts: readonly string[];
  /** The hosts that the document allows; null or absent if it sets no limit. */
  readonly within?: readonly string[] | null;
  readonly privateHosts: readonly string[];
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
/** Only 2000::/3 is globally routable. These parts of it are not, or contain an IPv4 address. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'];

const special = new BlockList();
const global = new BlockList();
for (const range of SPECIAL_V4) special.addSubnet(...subnet(range), 'ipv4');
for (const range of SPECIAL_V6) special.addSubnet(...subnet(range), 'ipv6');
global.addSubnet('2000::', 3, 'ipv6');

export async function addressesOf(
  url: URL,
  allowed: Allowed,
  resolve: HttpOptions['resolve'] = systemResolve,
): Promise<readonly string[]> {
  if (url.protocol !== 'http:' && url.protocol !== 'https:')
    throw denied(`\`${url.protocol}\` URLs are not supported; use http or https`);
  if (url.username !== '' || url.password !== '') throw denied('a URL with a user name or password is not called');
  const host = hostOf(url);
  if (!allowed.hosts.some((pattern) => matches(host, pattern))) throw denied(`the host \`${host}\` is not allowed`);
  if (allowed.within?.some((pattern) => matches(host, pattern)) === false)
    throw denied(`the document does not allow the host \`${host}\``);
  const literal = addressIn(host);
  const addresses = literal === null ? await resolved(host, resolve) : [literal];
  if (addresses.length === 0) throw failUnsent('transient', 'DnsError', `the host \`${host}\` has no address`);
  if (allowed.privateHosts.some((pattern) => matches(host, pattern))) return addresses;
  const inside = addresses.find((address) => !isPublicAddress(address));
  if (inside !== undefined) throw denied(`the host \`${host}\` has the address ${inside}, which is not public`);
  return addresses;
}

export function hostOf(url: URL): string {
  return url.hostname.toLowerCase().replace(/\.$/, '');
}

/** True for globally routable addresses only. */
export function isPublicAddress(address: string): boolean {
  const bare = address.replace(/%.*$/, '');
  if (isIPv4(bare)) return !special.check(bare, 'ipv4');
  return isIPv6(bare) && global.check(bare, 'ipv6') && !special.check(bare, 'ipv6');
}

/** The IP address that a host is, without the brackets of IPv6; null for a name. */
export function addressIn(host: string): string | null {
  const bare = host.replace(/^\[(.*)\]$/, '$1');
  return isIP(bare) === 0 ? null : bare;
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
    throw failUnsent('transient', 'DnsError', `the host \`${host}\` cannot be resolved: ${reasonOf(error)}`);
  }
}

async function systemResolve(host: string): Promise<readonly string[]> {
  return (await lookup(host, { all: true })).map(({ address }) => address);
}

function subnet(range: string): [string, number] {
  const [net = '', prefix = ''] = range.split('/');
  return [net, Number(prefix)];
}

function denied(message: string): Error {
  return failUnsent('policy', 'HostError', message);
}
