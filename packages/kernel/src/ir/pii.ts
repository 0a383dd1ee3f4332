/** The section `pii` of a document: the personal data that tokens replace, and the tools and agents that see the original values. */
export interface PiiPolicy {
  /** `tokenize` replaces personal data. `block` refuses it. */
  readonly mode: 'tokenize' | 'block';
  readonly types: readonly string[];
  readonly names: boolean;
  /** Tools and agents that receive the original values. */
  readonly trusted: readonly string[];
  readonly custom: readonly CustomPii[];
  /** Countries (ISO 3166-1) whose phone numbers are found without a word near them. */
  readonly regions?: readonly string[];
  /** True if attachments may be used, although personal data in them cannot be found. */
  readonly attachments?: true;
  /** A Presidio analyzer that is asked in addition. */
  readonly service?: { readonly url: string; readonly language: string };
  /** The file with the key, relative to the document. */
  readonly keyFile?: string;
}

export interface CustomPii {
  readonly name: string;
  readonly pattern: string;
  /** A checksum that a match must pass. */
  readonly check?: 'luhn' | 'iban';
}
