/** The kinds of personal data that have a form of their own. */
export const PII_TYPES = ['ssn', 'card', 'iban', 'email', 'phone', 'ip', 'dob', 'secret'] as const;
