/** Which addresses are anybody's: everything that is not globally routable counts as private. */
import { BlockList, isIP, isIPv4, isIPv6 } from 'node:net';

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
