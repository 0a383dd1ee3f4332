/**
 * Conditions under which the rows of the profiles fail closed. They read the proposed call, the input of the run and the
 * observations. A tool reports other facts as signals. Each condition can be evaluated over any values, because one that cannot
 * would end the run.
 */
import type { Expr } from '../ir/nodes.ts';

/** A tool, or the check of its result, reports a signal by name: `{ signals: ["vendor_risk"] }`. */
function signalled(name: string): Expr {
  return `observations.exists(o, type(o.result) == map && type(o.result.signals) == list && o.result.signals.exists(s, s == "${name}"))`;
}

/** Holds by the signal of that name, or by the data. */
function bySignalOr(name: string, data: Expr): Expr {
  return `${signalled(name)} || ${data}`;
}

/** Holds if a result passes the test; `r` is the result, `o` the observation. */
function observed(test: Expr): Expr {
  return `observations.exists(o, type(o.result) == map && cel.bind(r, o.result, ${test}))`;
}

/** As `observed`, for the objects inside the results, at any depth. */
function observedWithin(test: Expr): Expr {
  return `records(observations.map(o, o.result)).exists(r, ${test})`;
}

/** Holds if the arguments pass the test. */
function given(test: Expr): Expr {
  return `(type(args) == map && (${test}))`;
}

function oneOf(value: Expr, words: readonly string[]): Expr {
  return `lower(text(${value})) in ${list(words)}`;
}

function list(words: readonly string[]): Expr {
  return `[${words.map((word) => `"${word}"`).join(', ')}]`;
}

const NUMBER = (value: Expr): Expr => `(type(${value}) == int || type(${value}) == double)`;
/** The input of the run, if it has fields. */
const RUN = (test: Expr): Expr =>
  `cel.bind(run, type(input) == map ? input : jsonIn(text(input)), type(run) == map && (${test}))`;
/** Calls with an effect outside: they need approval, or they spend money. */
const LEAVES = '(approval || effect == "financial")';

// Research
const CITED =
  'cel.bind(name, type(c) == map ? (c.id == null ? c.url : c.id) : c, observations.exists(o, o.ok == true && (o.id == name || text(o.result).contains(text(name)))))';
const UNSEEN = (field: string): Expr => `(type(args.${field}) == list && args.${field}.exists(c, !${CITED}))`;
export const UNGROUNDED: Expr = bySignalOr(
  'ungrounded_claim',
  `(!(effect in ["read", "egress"]) && ${given(
    `${UNSEEN('citations')} || ${UNSEEN('sources')} || (args.verified == true && !observations.exists(o, o.ok == true))`,
  )})`,
);
export const SOURCE_POLICY: Expr = bySignalOr(
  'source_policy_conflict',
  observed(
    `o.approved != "approve" && (r.allowed == false || r.permitted == false || ${oneOf('r.classification', ['restricted', 'confidential', 'secret'])} || (r.source != null && r.policy != null && observations.exists(p, type(p.result) == map && p.result.source == r.source && p.result.policy != null && p.result.policy != r.policy)))`,
  ),
);

// Coding
export const SECRET: Expr =
  're(text(args), "(AKIA[0-9A-Z]{16}|-----BEGIN [A-Z ]*PRIVATE KEY|gh[pousr]_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{20,}|xox[abprs]-[A-Za-z0-9-]{10,})")';
export const FAILED_TESTS: Expr =
  'approval && observations.exists(o, o.ok == true && o.tool in workspace) && cel.bind(t, observations.filter(o, o.tool in tests), size(t) > 0 && t[size(t) - 1].ok != true)';
/**
 * Commands that act on a running system. A text, a path or a search that contains the word touches nothing: a command
 * starts the line or follows an operator outside quotes, or it is the text that a shell is given to run.
 */
const STARTS = `(^|^([^'\\"]|'[^']*'|\\"[^\\"]*\\")*([;&|(\\\\n]|\\\\bsudo |\\\\b(ba|z|da|k)?sh -\\\\w*c ['\\"]))\\\\s*(\\\\w+=\\\\S* )*`;
const ACTS = `(?i)${STARTS}(kubectl|helm|terraform|ansible\\\\w*|ssh|scp|psql|mysql|mongosh|redis-cli|aws|gcloud|az|docker|deploy\\\\S*|[.]/deploy\\\\S*|fly|heroku|curl|git push|npm publish|make deploy\\\\S*)\\\\b[^;|&\\\\n]*\\\\bprod(uction)?\\\\b`;
export const PRODUCTION: Expr = `!(effect in ["read", "egress"]) && !approval && !(category in ["file_system", "review"]) && (category == "sandbox" ? re(text(type(args) == map && args.command != null ? args.command : args), "${ACTS}") : re(text(args), "(?i)\\\\bprod(uction)?\\\\b"))`;

// Support
const IDENTITIES = list(['customer_id', 'user_id', 'account_id', 'member_id', 'customer', 'account']);
/** Addresses, identifiers and names are three kinds of values. */
const SAME_KIND = (a: Expr, b: Expr): Expr =>
  `re(${a}, "@") == re(${b}, "@") && re(${a}, "[0-9]") == re(${b}, "[0-9]")`;
/** Two values of one kind that differ. A name and an identifier are not compared. A record counts by its `id` or its `name`. */
const OTHER = (value: Expr): Expr =>
  `cel.bind(v, type(${value}) == map ? (${value}.id == null ? ${value}.name : ${value}.id) : ${value}, cel.bind(a, lower(text(v)), cel.bind(b, lower(text(run[k])), v != null && type(run[k]) != map && a != b && ${SAME_KIND('a', 'b')})))`;
export const IDENTITY: Expr = bySignalOr(
  'identity_mismatch',
  `${observed('r.identity_verified == false || r.identity_match == false')} || ${RUN(
    `${IDENTITIES}.exists(k, run[k] != null && (${given(`args[k] != null && ${OTHER('args[k]')}`)} || ${observed(`r[k] != null && ${OTHER('r[k]')}`)}))`,
  )}`,
);
export const PAYMENT_CHANGE: Expr = bySignalOr(
  'payment_change',
  `(!(effect in ["read", "egress"]) && (re(tool, "(?i)payment_(method|details)|bank_details|(change|update|replace|set)_?(card|iban|bank|payment)|(card|iban|bank_account)[._]?(change|update|replace|set)") || ${given(
    `${list(['new_payment_method', 'new_iban', 'new_card', 'iban', 'bank_account', 'bank_details', 'card_number'])}.exists(k, args[k] != null)`,
  )}))`,
);
export const EXCEPTION: Expr = bySignalOr(
  'policy_exception',
  `(!(effect in ["read", "egress"]) && ${given(`${list(['override', 'override_policy', 'policy_exception', 'exception', 'waive', 'force'])}.exists(k, args[k] == true)`)}) || (effect == "financial" && cel.bind(e, observations.filter(o, type(o.result) == map && (o.result.eligible != null || o.result.within_policy != null)), size(e) > 0 && (e[size(e) - 1].result.eligible == false || e[size(e) - 1].result.within_policy == false)))`,
);
const REGULATED_KINDS = [
  'regulated',
  'legal',
  'medical',
  'health',
  'financial_advice',
  'tax',
  'privacy',
  'gdpr',
  'hipaa',
];
/** The category of a product is not that of the customer. A product is recognised by its fields, or by the tool that returned it. */
const SHOP = '"(?i)product|catalog|shop|store|item|inventory|stock|article"';
const NO_PRODUCT = `${list(['sku', 'price', 'product', 'product_id', 'brand', 'stock'])}.all(k, r[k] == null)`;
export const REGULATED: Expr = bySignalOr(
  'regulated_category',
  `${observed(`r.regulated == true || (${NO_PRODUCT} && !re(o.tool, ${SHOP}) && ${oneOf('r.category', REGULATED_KINDS)})`)} || observations.exists(o, o.ok == true && type(o.args) == map && !re(o.tool, ${SHOP}) && ${oneOf('o.args.category', REGULATED_KINDS)}) || ${RUN(oneOf('run.category', REGULATED_KINDS))}`,
);

// Procurement
const AMOUNT = 'args.amount == null ? args.total : args.amount';
export const OVER_BUDGET: Expr = `${LEAVES} && ${given(
  `cel.bind(amount, ${AMOUNT}, ${NUMBER('amount')} && (${RUN(`${NUMBER('run.budget')} && amount > run.budget`)} || ${observed(`${NUMBER('r.budget_remaining')} && amount > r.budget_remaining`)}))`,
)}`;
export const NO_CHAIN: Expr = `${LEAVES} && ${given(
  `${list(['approval_chain', 'approvals', 'approvers'])}.exists(k, type(args[k]) == list && size(args[k]) == 0)`,
)}`;
const RISKY = ['high', 'critical', 'severe'];
const VENDORS = ['vendor', 'supplier', 'vendor_name', 'supplier_name', 'vendor_id', 'supplier_id'];
const VENDOR_NAMES = [...VENDORS, 'name', 'id'];
const some = (fields: readonly string[], test: (field: Expr) => Expr): Expr =>
  `(${fields.map((field) => `(r.${field} != null && cel.bind(b, lower(text(r.${field})), ${test('b')}))`).join(' || ')})`;
/** One of the names of the vendor in the arguments, as `w`, passes the test. */
const wanted = (test: Expr): Expr =>
  `[${VENDORS.map((field) => `args.${field}`).join(', ')}].exists(v, v != null && cel.bind(w, lower(text(v)), ${test}))`;
const IS_NAMED = wanted(some(VENDOR_NAMES, (b) => `w.contains(${b}) || ${b}.contains(w)`));
const IS_COMPARABLE = wanted(some(VENDOR_NAMES, (b) => SAME_KIND('w', b)));
/** A record is about another vendor if both name one in the same way, and none of the names is the same. */
const SAME_VENDOR = `(type(args) != map || (args.vendor_id != null && r.vendor_id != null ? text(args.vendor_id) == text(r.vendor_id) : !${IS_COMPARABLE} || ${IS_NAMED}))`;
const IS_RISKY = `((${['risk', 'risk_level', 'risk_rating', 'vendor_risk', 'supplier_risk'].map((field) => oneOf(`r.${field}`, RISKY)).join(' || ')} || r.sanctioned == true) && ${SAME_VENDOR})`;
/** A record of a list has the name of its vendor. */
const HAS_NAME = `(${VENDOR_NAMES.map((field) => `r.${field} != null`).join(' || ')})`;
const CONTRADICTED =
  'r.vendor != null && r.risk != null && observations.exists(p, type(p.result) == map && p.result.vendor == r.vendor && p.result.risk != null && lower(text(p.result.risk)) != lower(text(r.risk)))';
export const VENDOR_RISK: Expr = bySignalOr(
  'vendor_risk',
  `(${LEAVES} && (${observed(`${IS_RISKY} || (${SAME_VENDOR} && ${CONTRADICTED})`)} || ${observedWithin(`${HAS_NAME} && ${IS_RISKY}`)}))`,
);
export const AMBIGUOUS_CONTRACT: Expr = bySignalOr(
  'contract_ambiguity',
  `(${LEAVES} && ${observed(
    `r.ambiguous == true || ${list(['ambiguities', 'unclear_terms', 'missing_terms'])}.exists(k, type(r[k]) == list && size(r[k]) > 0)`,
  )})`,
);

// Incidents
const SECURITY = ['security', 'security_incident', 'intrusion', 'breach'];
export const SECURITY_INCIDENT: Expr = bySignalOr(
  'security_incident',
  observed(
    `r.security_incident == true || r.compromised == true || ${oneOf('r.category', SECURITY)} || ${oneOf('r.incident_type', SECURITY)} || (type(r.labels) == list && r.labels.exists(l, ${oneOf('l', SECURITY)}))`,
  ),
);
export const DESTRUCTIVE: Expr =
  '!(effect in ["read", "egress"]) && re(text(tool, " ", args), "(?i)(rm -rf|drop (table|database)|truncate table|\\\\bdestroy\\\\b|\\\\bwipe\\\\b|delete_all|mkfs)")';
const TARGETS = [
  'target',
  'targets',
  'service',
  'services',
  'host',
  'hosts',
  'namespace',
  'cluster',
  'region',
  'selector',
];
const WILD = ['*', 'all', 'any', 'everything', ''];
export const BLAST_RADIUS: Expr = bySignalOr(
  'uncertain_blast_radius',
  `(approval && (${given(`${list(TARGETS)}.exists(k, args[k] != null && (${oneOf('args[k]', WILD)} || (type(args[k]) == list && args[k].exists(t, ${oneOf('t', WILD)}))))`)} || ${observed(oneOf('r.blast_radius', ['unknown', 'uncertain', 'undetermined']))}))`,
);
