/** The sections about people: `people`, and `approvers` on nodes, tools and stages. */
import type * as z from 'zod';
import { expects, fault, int, list, name, number, once, record, ruled, text } from '../shape/fields.ts';

/** The last two bits of the last character are unused. They must be 0, or one key would have four spellings. */
const KEY = /^ed25519:(?:MCowBQYDK2VwAyEA)?[A-Za-z0-9+/_-]{42}[AEIMQUYcgkosw048]=?$/;

/** The name of a token, or an address without a fragment and the subject. A subject may contain `#`. */
const LOGIN = /^(?:token:[^\s:#]\S*|https?:\/\/[^\s#]+#\S+)$/;

export const people = list(
  record(() => ({
    id: name().describe('The name under which the person answers.'),
    roles: list(name()).optional().describe('Roles that `approvers` can name.'),
    key: name()
      .regex(KEY, { error: expects('a public key such as `sluice keys add NAME` prints: `ed25519:…`') })
      .optional()
      .describe('The public key. The person signs every answer.'),
    os_user: name()
      .optional()
      .describe('Without a key: the user of the operating system who is this person. Default: the id.'),
    login: name()
      .regex(LOGIN, {
        error: expects('`token:NAME`, or the issuer of OIDC and the subject: `https://login.example.com#u-17`'),
      })
      .optional()
      .describe('How a server knows the person: `token:NAME`, or `ISSUER#SUBJECT` of OIDC.'),
  })),
).describe('The people who answer questions.');

/** The file beside the document: the list itself, or a map with `people`. */
export const peopleFile = record(() => ({ people }));

const named = once(() => ({
  roles: list(name()).optional().describe('People with one of these roles may answer.'),
  people: list(name()).optional().describe('These people may answer.'),
}));

export const approvers = record(() => ({
  ...named(),
  quorum: int({ min: 1 }).optional().describe('How many different people must agree. Default: 1.'),
  escalate: record(() => ({
    after: number({ above: 0, max: 31_536_000 }).describe('Seconds without an answer.'),
    ...named(),
  }))
    .optional()
    .describe('More people who may answer after a time without an answer.'),
})).describe('The people who may answer. Without `roles` and `people`: all `people` of the document.');

const hook = ruled(
  record(() => ({
    webhook: name()
      .regex(/^(?:https:\/\/[^\s/?#]|http:\/\/(?:localhost|127\.0\.0\.1|\[::1\])[:/])/, {
        error: expects('an address such as `https://hooks.example.com/sluice`'),
      })
      .optional()
      .describe('The address that a signed POST request goes to.'),
    secret_env: name().optional().describe('The environment variable with the secret of the signature.'),
    command: list(text(), { min: 1 })
      .optional()
      .describe('A program and its arguments. It reads the message from standard input.'),
  })),
  ({ webhook, secret_env: secret, command }) => {
    if ((webhook === undefined) === (command === undefined))
      return fault('missing-field', 'a hook needs either a `webhook` or a `command`', 'Write exactly one of the two.');
    return webhook !== undefined && secret === undefined
      ? fault('missing-field', 'a `webhook` needs `secret_env`', 'Name the environment variable with the secret.')
      : null;
  },
);

export const notify = list(hook, { min: 1, max: 20 }).describe(
  'Hooks that are called when a question is asked, and for alerts and tickets of staged flows.',
);

export const reviewQueue = record(() => ({
  open: int({ min: 1 }).optional().describe('If more runs wait than this, the journal records `review.saturated`.'),
  age: number({ above: 0 })
    .optional()
    .describe('If a run waits for more seconds than this, the journal records `review.saturated`.'),
})).describe('Limits of the queue of open questions.');

export type PersonValue = z.output<typeof people>[number];
export type ApproversValue = z.output<typeof approvers>;
