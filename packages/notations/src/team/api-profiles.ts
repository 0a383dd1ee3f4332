/** `ApiProfiles`: services that the Http plugin reaches by name, with their address and headers. */
import type { Json } from '@sluice-internal/kernel/expr';
import type { ToolDef } from '@sluice-internal/kernel/ir';
import type { Reading } from './model.ts';
import type { RawApiProfile, RawTeam } from './schema/sections.ts';

const TOOLS: { readonly [tool: string]: string | null } = { 'http.get': 'GET', 'http.request': null };
const TIMEOUT_S = 30;

/** A request of the Http plugin that also takes a `profile`. */
export function withProfiles(name: string, def: ToolDef, { ApiProfiles: profiles = {} }: RawTeam): ToolDef {
  const names = Object.keys(profiles);
  if (names.length === 0 || !Object.hasOwn(TOOLS, name)) return def;
  const method = TOOLS[name] ?? null;
  const entries = names.map((each) => [each, profileOf(profiles[each] as RawApiProfile)] as const);
  const input = def.input as { readonly properties: { readonly [field: string]: Json } };
  const listed = names.map((each) => `${each} (${(profiles[each] as RawApiProfile).BaseUrl})`).join(', ');
  const profile = { enum: names, description: `The service; \`url\` is then a path below its address: ${listed}.` };
  return {
    ...def,
    input: { ...input, properties: { ...input.properties, profile } },
    timeoutMs: Math.max(def.timeoutMs, ...entries.map(([, { timeoutMs }]) => timeoutMs)),
    implementation: { http: { ...(method === null ? {} : { method }), profiles: Object.fromEntries(entries) } },
  };
}

function profileOf({ BaseUrl, DefaultHeaders = {}, TimeoutSeconds = TIMEOUT_S }: RawApiProfile) {
  const headers = Object.entries(DefaultHeaders).map(([name, value]) => [name, fromEnvironment(value)] as const);
  return {
    url: fromEnvironment(BaseUrl),
    headers: Object.fromEntries(headers),
    timeoutMs: Math.ceil(TimeoutSeconds * 1000),
  };
}

/** `${NAME}` as the templates of tools write it. */
function fromEnvironment(text: string): string {
  return text.replace(/\$\{(\w+)\}/g, '{{env.$1}}');
}

export function checkProfiles({ body, report }: Reading): void {
  const { ApiProfiles: profiles = {}, Security, Agents } = body.value;
  const hosts = Security?.HttpAllowedHosts ?? [];
  for (const [index, host] of hosts.entries())
    if (host.includes('${'))
      report.error('bad-value', body.at('Security', 'HttpAllowedHosts', index), `\`${host}\` is not a host`, {
        help: 'The hosts are fixed when the document is checked. Write the host itself.',
      });
  for (const [name, { BaseUrl }] of Object.entries(profiles)) {
    const at = body.at('ApiProfiles', name, 'BaseUrl');
    if (!/^(https?:\/\/|\$\{)[^\s]+/i.test(BaseUrl))
      report.error('bad-value', at, `\`${BaseUrl}\` is not an HTTP address`, {
        help: 'Write an address such as `https://api.example.com/v1`.',
      });
    else if (hosts.length > 0 && !hosts.some((host) => allows(host, hostIn(BaseUrl))))
      report.error('not-granted', at, `\`HttpAllowedHosts\` does not allow the host of the profile \`${name}\``, {
        help: `Add \`${hostIn(BaseUrl)}\` to \`HttpAllowedHosts\`, or remove the profile.`,
      });
  }
  const isUsed = Agents.some(({ Plugins }) => Plugins.some((plugin) => plugin.toLowerCase() === 'http'));
  if (Object.keys(profiles).length > 0 && !isUsed)
    report.warning('unused-field', body.key('ApiProfiles'), '`ApiProfiles` has no effect without the Http plugin', {
      help: 'Add `Http` to the `Plugins` of the agents that call the services.',
    });
}

function hostIn(url: string): string {
  return /^https?:\/\/(?:[^/?#@]*@)?([^/:?#]+)/i.exec(url)?.[1]?.toLowerCase() ?? url;
}

function allows(allowed: string, host: string): boolean {
  const plain = allowed.toLowerCase();
  return plain.startsWith('*.') ? host.endsWith(plain.slice(1)) : host === plain;
}
