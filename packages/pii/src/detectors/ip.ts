/** Addresses on the network. */
import { isIP } from 'node:net';
import { spansOf, type Detector } from './detector.ts';

const IP_V4 = /(?<![\w.:])\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,3}(?!\d))?/g;
const IP_V6 = /(?<![\w.:])[0-9A-Fa-f]{0,4}:[0-9A-Fa-f:.]*(?:%\w+)?(?:\/\d{1,3}(?!\d))?/g;

export const ip: Detector = {
  type: 'ip',
  find: ({ text }) =>
    [...spansOf(IP_V4, text), ...spansOf(IP_V6, text)].flatMap(({ start, match }) => {
      const address = addressIn(match[0]);
      if (address === null) return [];
      const span = { start, end: start + address.length };
      return /^[\w:]/.test(text.slice(span.end, span.end + 1)) ? [] : [span];
    }),
};

/** The address with its prefix length, or without one that is not possible. */
function addressIn(found: string): string | null {
  const [start = '', prefix] = found.split('/');
  // A sentence may end behind the address.
  const whole = start.replace(/\.$/, '').replace(/(?<=[^:]):$/, '');
  const version = isIP(whole);
  if (version === 0) return null;
  const isPossible = prefix !== undefined && whole === start && Number(prefix) <= (version === 4 ? 32 : 128);
  return isPossible ? `${whole}/${prefix}` : whole;
}
