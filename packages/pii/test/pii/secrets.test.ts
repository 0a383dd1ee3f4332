/**
 * Secrets in the formats that providers publish, each as a value by itself, in a sentence, in JSON and in an assignment; then text
 * that looks like a secret and is none. The keys are made here: no key of the list was ever issued.
 */
import { describe, expect, test } from 'vitest';
import { createDetect } from '../../src/detect.ts';

const detect = createDetect({ types: ['secret'], names: false, custom: [] });
const found = (text: string, field: string | null = null): string[] =>
  detect(text, field).map(({ start, end }) => text.slice(start, end));

const [LOWER, UPPER, DIGITS] = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789'];
const [HEX, WORD] = ['0123456789abcdef', `${LOWER}${UPPER}${DIGITS}`];

/** The same characters for the same seed. */
function made(length: number, characters: string, seed: number): string {
  let state = seed * 7919 + length;
  return Array.from({ length }, () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return characters[Math.floor((state / 2_147_483_648) * characters.length)];
  }).join('');
}

/** Provider, and the token by its documentation: fixed part, then length and characters of the rest. */
const PUBLISHED: readonly (readonly [string, (seed: number) => string])[] = [
  ['AWS access key id', (n) => `AKIA${made(16, `${UPPER}234567`, n)}`],
  ['AWS temporary key id', (n) => `ASIA${made(16, `${UPPER}234567`, n)}`],
  ['Azure AD client secret', (n) => `${made(3, WORD, n)}8Q~${made(34, WORD, n + 1)}`],
  ['Google API key', (n) => `AIza${made(35, `${WORD}_`, n)}`],
  ['Google OAuth client secret', (n) => `GOCSPX-${made(28, WORD, n)}`],
  ['Google access token', (n) => `ya29.${made(60, `${WORD}_`, n)}`],
  ['GitHub personal access token (classic)', (n) => `ghp_${made(36, WORD, n)}`],
  ['GitHub OAuth token', (n) => `gho_${made(36, WORD, n)}`],
  ['GitHub server token', (n) => `ghs_${made(36, WORD, n)}`],
  ['GitHub fine-grained token', (n) => `github_pat_${made(22, WORD, n)}_${made(59, WORD, n)}`],
  ['GitLab personal access token', (n) => `glpat-${made(20, WORD, n)}`],
  ['GitLab routable token', (n) => `glpat-${made(27, WORD, n)}.01.${made(9, HEX, n)}`],
  ['GitLab runner token', (n) => `glrt-${made(20, WORD, n)}`],
  ['GitLab deploy token', (n) => `gldt-${made(20, WORD, n)}`],
  ['Atlassian API token', (n) => `ATATT3${made(186, `${WORD}_`, n)}`],
  ['Slack bot token', (n) => `xoxb-${made(12, DIGITS, n)}-${made(12, DIGITS, n)}-${made(24, WORD, n)}`],
  ['Slack user token', (n) => `xoxp-${made(12, DIGITS, n)}-${made(12, DIGITS, n)}-${made(32, HEX, n)}`],
  ['Slack app token', (n) => `xapp-1-${made(11, `${UPPER}${DIGITS}`, n)}-${made(13, DIGITS, n)}-${made(64, HEX, n)}`],
  ['Telegram bot token', (n) => `${made(9, '123456789', n)}:AA${made(33, WORD, n)}`],
  ['Stripe secret key', (n) => `sk_live_${made(24, WORD, n)}`],
  ['Stripe restricted key', (n) => `rk_test_${made(99, WORD, n)}`],
  ['Stripe webhook secret', (n) => `whsec_${made(32, WORD, n)}`],
  ['OpenAI key', (n) => `sk-${made(20, WORD, n)}T3BlbkFJ${made(20, WORD, n)}`],
  ['OpenAI project key', (n) => `sk-proj-${made(74, `${WORD}_`, n)}`],
  ['OpenAI service key', (n) => `sk-svcacct-${made(74, `${WORD}_`, n)}`],
  ['Anthropic key', (n) => `sk-ant-api03-${made(93, `${WORD}_`, n)}AA`],
  ['OpenRouter key', (n) => `sk-or-v1-${made(64, HEX, n)}`],
  ['Hugging Face token', (n) => `hf_${made(34, LOWER + UPPER, n)}`],
  ['npm token', (n) => `npm_${made(36, WORD, n)}`],
  ['PyPI token', (n) => `pypi-AgEIcHlwaS5vcmc${made(70, `${WORD}_`, n)}`],
  ['RubyGems key', (n) => `rubygems_${made(48, HEX, n)}`],
  ['Docker token', (n) => `dckr_pat_${made(27, WORD, n)}`],
  ['DigitalOcean token', (n) => `dop_v1_${made(64, HEX, n)}`],
  ['Shopify token', (n) => `shpat_${made(32, HEX, n)}`],
  ['Square token', (n) => `sq0atp-${made(22, WORD, n)}`],
  ['SendGrid key', (n) => `SG.${made(22, WORD, n)}.${made(43, WORD, n)}`],
  ['Twilio API key', (n) => `SK${made(32, HEX, n)}`],
  ['Mailgun key', (n) => `key-${made(32, HEX, n)}`],
  ['Mailchimp key', (n) => `${made(32, HEX, n)}-us12`],
  ['Databricks token', (n) => `dapi${made(32, HEX, n)}`],
  ['Vault token', (n) => `hvs.${made(95, WORD, n)}`],
  ['Terraform token', (n) => `${made(14, WORD, n)}.atlasv1.${made(64, WORD, n)}`],
  ['Grafana token', (n) => `glsa_${made(32, WORD, n)}_${made(8, HEX, n)}`],
  ['New Relic key', (n) => `NRAK-${made(27, `${UPPER}${DIGITS}`, n)}`],
  ['Linear key', (n) => `lin_api_${made(40, WORD, n)}`],
  ['Notion token', (n) => `ntn_${made(46, WORD, n)}`],
  ['Figma token', (n) => `figd_${made(40, WORD, n)}`],
  ['Postman key', (n) => `PMAK-${made(24, HEX, n)}-${made(34, HEX, n)}`],
  ['Supabase token', (n) => `sbp_${made(40, HEX, n)}`],
  ['PlanetScale token', (n) => `pscale_tkn_${made(43, WORD, n)}`],
  ['Doppler token', (n) => `dp.pt.${made(43, WORD, n)}`],
  ['age key', (n) => `AGE-SECRET-KEY-1${made(58, 'QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L', n)}`],
  ['JSON Web Token', (n) => `eyJ${made(33, WORD, n)}.eyJ${made(60, WORD, n)}.${made(43, WORD, n)}`],
];

const AROUND: readonly ((token: string) => string)[] = [
  (token) => token,
  (token) => `Please use ${token}, and tell no one.`,
  (token) => JSON.stringify({ value: token }),
  (token) => `TOKEN_OF_CI=${token}\nNEXT=1`,
  (token) => `curl -H "Authorization: Bearer ${token}" https://api.example/v1`,
];

describe('published formats', () => {
  test.each(PUBLISHED)('%s: found whole, wherever it stands', (_, format) => {
    for (const seed of [1, 2, 3, 4])
      for (const around of AROUND) {
        const token = format(seed);
        expect(found(around(token))).toEqual([token]);
      }
  });

  test.each(['RSA PRIVATE KEY', 'OPENSSH PRIVATE KEY', 'EC PRIVATE KEY', 'PRIVATE KEY', 'PGP PRIVATE KEY BLOCK'])(
    'a block of the kind %s',
    (kind) => {
      const block = `-----BEGIN ${kind}-----\n${made(64, WORD, 1)}\n${made(64, WORD, 2)}\n-----END ${kind}-----`;
      expect(found(`Key:\n${block}\n`)).toEqual([block]);
    },
  );

  test.each([
    ['a connection string', 'postgres://ann:S3cr:et!@db.example:5432/x', 'S3cr:et!'],
    ['an address with a user', 'https://bot:tokentoken@git.example/repo.git', 'tokentoken'],
    ['a storage account', `AccountName=x;AccountKey=${made(86, WORD, 1)}==;EndpointSuffix=y`, `${made(86, WORD, 1)}==`],
    ['a webhook of Slack', `https://hooks.slack.com/services/T0ABCDEFG/B0ABCDEFG/${made(24, WORD, 1)}`, undefined],
    ['the secret key of AWS', `aws_secret_access_key = ${made(40, `${WORD}/+`, 3)}`, made(40, `${WORD}/+`, 3)],
  ])('%s', (_, text, value) => {
    expect(found(text)).toEqual([value ?? text.slice(text.indexOf('T0ABC'))]);
  });
});

test.each([
  ['a commit', '4ed2b71c5057ffcf26ead7d314e45eaa71a71171'],
  ['a UUID', '3f2504e0-4f89-41d3-9a0c-0305e82c3301'],
  [
    'an integrity of npm',
    'sha512-9FrVMm9VRFFnEMFpFjJbNdBB0wwa7GzYp7XJk3X6gJ5Z0bn8Xnkf8YdDlY0QmAvZ3Gzn4RkEvDqMuVRQ4yDtVg==',
  ],
  ['a name with hyphens', 'The package sk-learn-pipeline-example does it.'],
  ['a sentence', 'Your password expired yesterday, and the secret ingredient is cinnamon.'],
  ['an address without a password', 'https://ann@git.example:8443/repo and ssh://git@host.example:22/x'],
  ['a time and a path', 'at 12:30:45, see https://docs.example/a:b@c'],
  ['an id of an account', 'AC is the account, key-value stores are fast, glob-patterns-match-files'],
  ['a class name', 'hf_model and npm_config and figd_x'],
])('%s is no secret', (_, text) => expect(found(text)).toEqual([]));
