/** Passwords, keys and tokens: by the format that the provider publishes, or by a name that says the value is secret. */
import { spansOf, type Detector } from './detector.ts';

/** The formats by provider. A token ends where none of its characters follows. */
const FORMATS: { readonly [provider: string]: readonly string[] } = {
  'PEM, OpenSSH and PGP private keys': [
    String.raw`-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?-----END (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----`,
  ],
  age: [String.raw`\bAGE-SECRET-KEY-1[0-9A-Z]{58}`],
  'JSON Web Token': [String.raw`\beyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]{8,}`],
  AWS: [String.raw`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`],
  Azure: [
    String.raw`(?<=\b(?:AccountKey|SharedAccessKey)=)[A-Za-z0-9+/]{40,}={0,2}`,
    String.raw`(?<![\w~.-])[\w~.]{3}\dQ~[\w~.-]{31,34}(?![\w~.-])`,
  ],
  Google: [String.raw`\bAIza[\w-]{30,}`, String.raw`\bya29\.[\w-]{20,}`, String.raw`\bGOCSPX-[\w-]{20,}`],
  GitHub: [String.raw`\bgh[pousr]_[A-Za-z0-9]{30,}`, String.raw`\bgithub_pat_\w{30,}`],
  GitLab: [String.raw`\bgl(?:pat|oas|dt|rt|rtr|cbt|ptt|ft|imt|agent|wt|soat|ffct)-[\w.-]{18,}`],
  Atlassian: [String.raw`\bAT(?:ATT|CTT|BB)[\w=-]{24,}`],
  Slack: [
    String.raw`\bx(?:ox[abceposr]|app|wfp)[-.][\w.-]{10,}`,
    String.raw`(?<=\bhooks\.slack\.com/(?:services|workflows|triggers)/)[\w/]{20,}`,
  ],
  Discord: [String.raw`(?<=\bdiscord(?:app)?\.com/api/webhooks/\d{10,}/)[\w-]{40,}`],
  Telegram: [String.raw`(?<![\w:])\d{8,10}:AA[\w-]{33}(?![\w-])`],
  Stripe: [String.raw`\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}`, String.raw`\bwhsec_[A-Za-z0-9+/=]{24,}`],
  // Words with hyphens are not a key: `sk-learn-pipeline-example`.
  'OpenAI, Anthropic, OpenRouter': [String.raw`\b(?:sk|pk|rk)[-_](?=[\w-]*\d)[\w-]{16,}`],
  'Hugging Face': [String.raw`\b(?:hf|api_org)_[A-Za-z0-9]{30,}`],
  npm: [String.raw`\bnpm_[A-Za-z0-9]{30,}`],
  PyPI: [String.raw`\bpypi-[\w-]{50,}`],
  RubyGems: [String.raw`\brubygems_[a-f0-9]{40,}`],
  Docker: [String.raw`\bdckr_(?:pat|oat)_[\w-]{20,}`],
  DigitalOcean: [String.raw`\bdo[opr]_v1_[a-f0-9]{60,}`],
  Shopify: [String.raw`\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{30,}`],
  Square: [String.raw`\bsq0(?:atp|csp|idp)-[\w-]{20,}`, String.raw`\bEAAA[\w-]{56,}`],
  SendGrid: [String.raw`\bSG\.[\w-]{16,}\.[\w-]{16,}`],
  Twilio: [String.raw`\bSK[a-f0-9]{32}\b`],
  Mailgun: [String.raw`\bkey-[a-f0-9]{32}\b`],
  Mailchimp: [String.raw`\b[a-f0-9]{32}-us\d{1,2}\b`],
  Databricks: [String.raw`\bdapi[a-f0-9]{32}(?:-\d)?\b`],
  HashiCorp: [String.raw`\bhv[sbr]\.[\w-]{20,}`, String.raw`\b[A-Za-z0-9]{14}\.atlasv1\.[\w-]{50,}`],
  Grafana: [String.raw`\bgl(?:sa|c)_[A-Za-z0-9+/=_]{30,}`],
  'New Relic': [String.raw`\bNRAK-[A-Z0-9]{20,}`],
  Linear: [String.raw`\blin_(?:api|oauth)_[A-Za-z0-9]{30,}`],
  Notion: [String.raw`\b(?:secret|ntn)_[A-Za-z0-9]{40,}`],
  Figma: [String.raw`\bfig[duo]r?_[\w-]{30,}`],
  Postman: [String.raw`\bPMAK-[a-f0-9]{24}-[a-f0-9]{34}\b`],
  Supabase: [String.raw`\bsbp_[a-f0-9]{40}\b`],
  PlanetScale: [String.raw`\bpscale_(?:tkn|pw|oauth)_[\w=.-]{30,}`],
  Doppler: [String.raw`\bdp\.(?:pt|st|ct|sa|scim|audit)\.[\w.-]{40,}`],
};
/** The password of an address such as `postgres://ann:PASSWORD@db.example`. */
const IN_ADDRESS = String.raw`(?<=\b[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,64}:)[^\s/@]{3,}(?=@[\w.-])`;

const SECRETS = new RegExp([...Object.values(FORMATS).flat(), IN_ADDRESS].join('|'), 'g');
/** A value behind a name that says it is secret. */
const ASSIGNED =
  /(?:pass(?:word|wd|phrase)|\bpass(?=["']?\s*[:=])|secret(?:[_-]?access)?(?:[_-]?key)?|api[_-]?key|access[_-]?token|auth[_-]?token|bearer|client[_-]?secret)["']?\s*(?:[:=]|\bis\b)?\s*["']?([^\s"',;]{8,})/gi;
const SECRET_FIELD = /pass(?:word|wd|phrase)|secret|api[_-]?key|access[_-]?token|private[_-]?key/i;

export const secret: Detector = {
  type: 'secret',
  find: ({ text, field }) => {
    if (field !== null && SECRET_FIELD.test(field) && text.length >= 6) return [{ start: 0, end: text.length }];
    const assigned = [...spansOf(ASSIGNED, text)].flatMap(({ end, match }) => {
      const value = match[1] ?? '';
      // A word of a sentence is not a secret: `password expired yesterday`.
      return /\d/.test(value) || /[^\w.]/.test(value) ? [{ start: end - value.length, end }] : [];
    });
    return [...spansOf(SECRETS, text), ...assigned];
  },
};
