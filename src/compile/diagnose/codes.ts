/**
 * Every code that the compiler may report. The set is closed: a diagnostic cannot carry any other, and each has a page at
 * docs/errors/<code>.md, which a test checks in both directions.
 */
export interface CodeEntry {
  readonly title: string;
  readonly summary: string;
}

export const DIAGNOSTIC_CODES = {
  // The text
  'empty-document': { title: 'The document is empty', summary: 'There is nothing in it to compile.' },
  'syntax-error': {
    title: 'Not valid YAML or JSON',
    summary: 'The text breaks a rule of YAML, so its structure is unknown.',
  },
  'duplicate-key': { title: 'A key is given twice', summary: 'One map holds the same key more than once.' },
  'bad-key': { title: 'A key that cannot be used', summary: 'A key is not text, or is a name that objects reserve.' },
  'not-json': {
    title: 'A value that JSON cannot hold',
    summary: 'Infinity, a number with too many digits, a function or the like.',
  },
  'unknown-alias': {
    title: 'An alias without its anchor',
    summary: 'A YAML alias names no earlier anchor, or contains itself.',
  },
  'too-many-aliases': {
    title: 'Aliases expand too far',
    summary: 'Expanding the aliases of the document would make it enormous.',
  },
  'too-deep': { title: 'Nested too deeply', summary: 'Lists and maps are nested beyond what is read.' },
  'too-large': { title: 'The document is too large', summary: 'The text is longer than what is read.' },

  // Shapes
  'unknown-key': { title: 'An unknown key', summary: 'A map holds a key that has no meaning there.' },
  'missing-field': { title: 'A required field is missing', summary: 'A map lacks a key that it needs.' },
  'wrong-type': {
    title: 'A value of the wrong type',
    summary: 'Text stands where a number is needed, a map where a list is, and so on.',
  },
  'bad-value': {
    title: 'A value out of its bounds',
    summary: 'The type is right, but the value is not one that is allowed.',
  },
  'unchecked-criteria': {
    title: 'A criterion that nothing checks',
    summary: 'A criterion in words needs a verifier; without one the run ends PARTIAL_SUCCESS at best.',
  },
  'bad-schema': { title: 'Not a valid JSON Schema', summary: 'A schema in the document breaks JSON Schema 2020-12.' },

  // Which notation
  'no-notation': { title: 'No notation in the document', summary: 'The document says nothing about what to run.' },
  'several-notations': {
    title: 'More than one notation',
    summary: 'The document holds two descriptions of what to run.',
  },
  'unknown-notation': { title: 'A misspelt notation', summary: 'A top-level key looks like a notation but is none.' },
  'unsupported-notation': {
    title: 'A notation that this version does not run',
    summary: 'The document is written in a notation that is known but not built yet.',
  },
  'bad-version': {
    title: 'A version that is not known',
    summary: '`sluice:` names a version of the notation that this release does not read.',
  },

  // Names
  'duplicate-id': {
    title: 'An id is used twice',
    summary: 'Two things of one kind share an id, so that a reference to it is ambiguous.',
  },
  'reserved-id': {
    title: 'An id that has a meaning of its own',
    summary: 'The id is a word that the notation itself uses.',
  },
  'unknown-agent': {
    title: 'An unknown agent',
    summary: 'A node or step names an agent that the document does not declare.',
  },
  'unknown-tool': {
    title: 'An unknown tool',
    summary: 'A tool is named that neither `tools` nor an MCP server declares.',
  },
  'unknown-model': {
    title: 'An unknown model',
    summary: 'An agent names a model alias that `models` does not declare.',
  },
  'unknown-provider': {
    title: 'A provider that is probably misspelt',
    summary: 'A model names a provider that is not known but looks like one that is.',
  },
  'unknown-server': {
    title: 'An unknown MCP server',
    summary: 'A tool names an MCP server that `mcp` does not declare.',
  },
  'unknown-target': {
    title: 'A route to nowhere',
    summary: 'A route, branch or error route leads to a node that does not exist.',
  },
  'unknown-entry': {
    title: 'The entry does not exist',
    summary: 'The flow starts at a node that it does not declare.',
  },
  'unknown-choice': {
    title: 'A choice that is not offered',
    summary: 'A choice is named that the approval does not list.',
  },
  'map-in-itself': {
    title: 'A map inside its own path',
    summary: 'The path that a map runs for each item leads back to the map.',
  },
  'unclear-expiry': {
    title: 'A timeout that no choice answers',
    summary: 'An approval has a timeout, but neither `on_timeout` nor the choice `reject`.',
  },
  'silence-approves': {
    title: 'Silence that approves',
    summary: 'An approval that nobody answers in time counts as its first choice.',
  },
  'unknown-name': {
    title: 'A name that means nothing here',
    summary: 'An expression reads a name that can never exist.',
  },
  'unknown-variable': {
    title: 'A variable that no step stores',
    summary: 'A template names a variable that no earlier step writes.',
  },
  'duplicate-variable': {
    title: 'Two steps store one variable',
    summary: 'A later step overwrites the variable of an earlier one.',
  },

  // Tools and agents
  'incomplete-tool': {
    title: 'A tool without its rules',
    summary: 'A tool that is used lacks a schema, a bound or a check.',
  },
  'unlocked-server': {
    title: 'The tools of an MCP server are not known',
    summary: '`server.*` grants tools that only a lock file or the running server can name.',
  },
  'undeclared-effect': {
    title: 'A tool of an MCP server without an effect',
    summary: 'The document does not say what a call of the tool does, so it counts as a write.',
  },
  'several-implementations': {
    title: 'A tool with two implementations',
    summary: 'A tool says more than one way to run it.',
  },
  'bad-policy': {
    title: 'A policy that does not fit the tools',
    summary: 'A policy cannot be read, or speaks of a tool, an argument or a group that does not exist.',
  },
  'policy-permits-nothing': {
    title: 'Policies that permit nothing',
    summary: 'There are policies, but none of them permits anything, so every call is denied.',
  },
  'not-granted': {
    title: 'A part that an agent may not play',
    summary: 'The boundary of an agent withholds a decision that its place in the document is about.',
  },
  'simpler-tier': {
    title: 'More autonomy than the task shows a need for',
    summary: 'What the document does could be done by a simpler and more predictable arrangement.',
  },
  'missing-price': {
    title: 'A cost limit without a price',
    summary: 'Money is limited, but a model has no price to count with.',
  },
  'not-supported': {
    title: 'A key of another system that has no meaning here',
    summary: 'The document asks for something that cannot be enforced as it is written.',
  },
  'protection-off': {
    title: 'A protection that is switched off',
    summary: 'The document switches off a protection that holds by default.',
  },
  'not-enforced': {
    title: 'A section that is read but not enforced',
    summary: 'This release checks the section and does not act on it yet.',
  },

  // The graph
  'unreachable-node': { title: 'A node that is never reached', summary: 'No path from the entry leads to the node.' },
  'uncapped-cycle': { title: 'A cycle without a bound', summary: 'The graph can go round for ever.' },
  'no-way-out': { title: 'A node without a way out', summary: 'A path stops at a node that is not an end.' },
  'no-terminal': {
    title: 'A path that reaches no end',
    summary: 'A failure, a limit or a cancellation leads to no terminal.',
  },
  'too-few-branches': { title: 'Too few branches', summary: 'A parallel node needs at least two branches.' },
  'branch-to-end': {
    title: 'A branch that does nothing',
    summary: 'A branch of a parallel node leads straight to `end`.',
  },
  'count-without-number': {
    title: 'A count join without its count',
    summary: 'The join waits for a number of branches that is not given.',
  },
  'count-above-branches': {
    title: 'A count above the branches',
    summary: 'The join waits for more branches than there are.',
  },
  'default-not-last': {
    title: 'A catch-all that is not last',
    summary: 'Error routes after the catch-all could never be taken.',
  },
  'empty-error-route': {
    title: 'An error route without a condition',
    summary: 'An error route has neither `match` nor `default: true`.',
  },
  'unreachable-route': { title: 'A route that is never taken', summary: 'An earlier route always matches first.' },
  'never-holds': { title: 'A condition that never holds', summary: 'The guard is false whatever happens.' },
  'overlapping-guards': {
    title: 'Two conditions for one case',
    summary: 'Two guards of one node can hold at once, so that their order decides.',
  },
  'not-yet-run': {
    title: 'A value that cannot exist yet',
    summary: 'A node reads the result of one that cannot have run before it.',
  },

  // Expressions
  'bad-expression': {
    title: 'An expression that cannot be read',
    summary: 'The expression breaks a rule of the expression language.',
  },
  'bad-template': {
    title: 'A template that cannot be read',
    summary: 'A `{{ }}` in the text is not closed, or its expression is wrong.',
  },
  'bad-regex': {
    title: 'A pattern that cannot be read',
    summary: 'The regular expression is not valid, or needs a feature that linear-time matching lacks.',
  },
  'type-mismatch': {
    title: 'Types that cannot meet',
    summary: 'An expression combines or compares values whose types never fit.',
  },

  // Steps
  'missing-agent': { title: 'A step without an agent', summary: 'A step that needs an agent names none.' },
  'same-agent': {
    title: 'An agent that hands over to itself',
    summary: 'Two steps in a row use one agent, whose memory would be its own source.',
  },
  'collect-without-fanout': { title: 'Nothing to collect', summary: 'A Collect step does not follow a FanOut step.' },
  'empty-condition': {
    title: 'A condition without text',
    summary: 'A Conditional or Loop step has nothing to look for.',
  },
  'unused-field': {
    title: 'A field without effect',
    summary: 'A step has a field that its mode does not use.',
  },

  // Teams
  'unknown-validator': {
    title: 'An unknown validator',
    summary: 'A route or an ending names a validator that does not exist.',
  },
  'unknown-contract': {
    title: 'An unknown contract',
    summary: 'A transition names a contract that `Contracts` does not declare.',
  },
  'unknown-sub-graph': {
    title: 'An unknown sub-graph',
    summary: 'A node runs a sub-graph that `SubGraphs` does not declare.',
  },
  'no-termination': {
    title: 'A session that need not end',
    summary: 'Nothing that an agent can say ends the session, and no number of turns does.',
  },
  'ignored-termination': {
    title: 'A termination without effect',
    summary: 'The strategy ends by its own rules and does not look at `Termination`.',
  },
  'shadowed-keyword': {
    title: 'Keywords that are hard to tell apart',
    summary: 'One keyword begins another, so that a line may seem to say both.',
  },
  'same-role': { title: 'One agent in two roles', summary: 'An agent would judge its own work.' },
  'bad-parallel': {
    title: 'Branches that cannot be',
    summary: 'A parallel transition or group breaks a rule of fanning out.',
  },
  'unequal-arms': {
    title: 'An edge that may not mean what it seems',
    summary: 'By its layer an edge leads back, although its target was never on the way.',
  },

  // The certificate and the input
  'unbounded-cost': {
    title: 'No upper bound on the cost',
    summary: 'Nothing limits what the flow may spend at worst.',
  },
  'budget-too-small': {
    title: 'A budget that no run fits into',
    summary: 'A budget is smaller than what even the shortest good run has to reserve.',
  },
  'huge-bound': {
    title: 'A bound that hardly bounds',
    summary: 'The worst case is so large that the cap is unlikely to be meant.',
  },
  'missing-prerequisite': {
    title: 'Something that the flow needs is missing',
    summary: 'A program, a file or a variable that a tool needs is missing on this machine.',
  },
  'over-max-cost': {
    title: 'The worst case costs too much',
    summary: 'The most that the flow may spend is above the limit that was asked for.',
  },
  'bad-input': {
    title: 'The input does not fit',
    summary: 'The run was given an input that the document does not accept.',
  },
  'bad-script': {
    title: 'A script that does not fit the document',
    summary: 'The script names agents, tools or approvals that are not there.',
  },
} as const satisfies { readonly [code: string]: CodeEntry };

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

export function isDiagnosticCode(code: string): code is DiagnosticCode {
  return Object.hasOwn(DIAGNOSTIC_CODES, code);
}
