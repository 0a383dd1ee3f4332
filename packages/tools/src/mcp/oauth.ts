/**
 * OAuth for MCP servers over HTTP: the credentials of a client, a private key that signs for it, or the login of a person in a
 * browser (`sluice mcp login`). The login is stored for the user, in a file that only the user can read.
 */
import { hash, randomBytes } from 'node:crypto';
import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from '@modelcontextprotocol/client';
import { createFolder } from '@sluice-internal/platform';
import type { McpServer } from '../calls/tool.ts';
import { sdk } from './sdk.ts';

type OAuth = NonNullable<McpServer['oauth']>;
type Expand = (text: string) => string;

/** A server could name an authorization server of its own to collect credentials, so the document names it. */
export function authProviderOf(oauth: OAuth, url: URL, expand: Expand): OAuthClientProvider {
  const { client_id: clientId = '', client_secret: clientSecret = '', private_key: privateKey, scope, issuer } = oauth;
  if (oauth.login === true) return new Login(oauth, url, expand);
  const common = {
    clientId: expand(clientId),
    expectedIssuer: issuer === undefined ? url.origin : expand(issuer),
    ...(scope === undefined ? {} : { scope: expand(scope) }),
  };
  if (privateKey === undefined)
    return new (sdk().ClientCredentialsProvider)({ ...common, clientSecret: expand(clientSecret) });
  // A PEM text in a variable of one line has `\n` for its line ends.
  const pem = expand(privateKey).replaceAll('\\n', '\n');
  return new (sdk().PrivateKeyJwtProvider)({ ...common, privateKey: pem, algorithm: oauth.algorithm ?? 'RS256' });
}

/** The part of a login that only `sluice mcp login` has. A run has no browser. */
export interface Browser {
  readonly redirectUrl: string;
  show(url: URL): void;
}

interface Stored {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
}

/** The login of a person. Its tokens are bound to the authorization server that gave them out. */
export class Login implements OAuthClientProvider {
  readonly #oauth: OAuth;
  readonly #url: URL;
  readonly #browser: Browser | undefined;
  readonly #file: string;
  readonly #state = randomBytes(32).toString('base64url');
  #verifier = '';
  #discovery: OAuthDiscoveryState | undefined;

  constructor(oauth: OAuth, url: URL, expand: Expand, browser?: Browser) {
    const expanded = Object.entries(oauth).map(([name, value]) => [
      name,
      typeof value === 'string' ? expand(value) : value,
    ]);
    this.#oauth = Object.fromEntries(expanded) as OAuth;
    this.#url = url;
    this.#browser = browser;
    const { client_id: id = '', issuer = '', scope = '' } = this.#oauth;
    const name = hash('sha256', [url.href, id, issuer, scope].join('\n'), 'hex').slice(0, 32);
    this.#file = join(loginDir(), `${name}.json`);
  }

  get redirectUrl(): string {
    return this.#browser?.redirectUrl ?? 'http://127.0.0.1/callback';
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: 'Sluice',
      redirect_uris: [this.redirectUrl],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: this.#oauth.client_secret === undefined ? 'none' : 'client_secret_basic',
      ...(this.#oauth.scope === undefined ? {} : { scope: this.#oauth.scope }),
    };
  }

  state(): string {
    return this.#state;
  }

  /** The client from the document, or else the client that `sluice mcp login` registered. Throws before the first login. */
  clientInformation({ issuer }: { readonly issuer?: string } = {}): StoredOAuthClientInformation | undefined {
    const { client_id: id, client_secret: secret, issuer: wanted } = this.#oauth;
    if (this.#browser === undefined && this.tokens() === undefined) throw this.#notLoggedIn();
    if (wanted !== undefined && issuer !== undefined && plain(issuer) !== plain(wanted))
      throw new Error(`the server names the authorization server ${issuer}, and the document names ${wanted}`);
    if (id === undefined) return this.#browser === undefined ? this.#read().client : this.#registered(issuer);
    if (secret === undefined) return { client_id: id };
    return { client_id: id, client_secret: secret, issuer: wanted ?? this.#url.origin };
  }

  /** A client that registered for another port cannot be used: its address to come back to is another one. */
  #registered(issuer: string | undefined): StoredOAuthClientInformation | undefined {
    const { client } = this.#read();
    const uris = (client as { readonly redirect_uris?: readonly string[] } | undefined)?.redirect_uris ?? [];
    return client?.issuer === issuer && uris.includes(this.redirectUrl) ? client : undefined;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    if (this.#oauth.client_id === undefined) this.#write({ ...this.#read(), client });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.#read().tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    const { refresh_token: before } = this.tokens() ?? {};
    const kept = tokens.refresh_token ?? before;
    this.#write({ ...this.#read(), tokens: { ...tokens, ...(kept === undefined ? {} : { refresh_token: kept }) } });
  }

  redirectToAuthorization(url: URL): void {
    if (this.#browser === undefined) throw this.#notLoggedIn();
    this.#browser.show(url);
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  #notLoggedIn(): Error {
    return new Error(
      `no one is logged in to ${this.#url.href}, or the login has expired: run \`sluice mcp login FILE\``,
    );
  }

  #read(): Stored {
    try {
      return JSON.parse(readFileSync(this.#file, 'utf8')) as Stored;
    } catch {
      return {};
    }
  }

  #write(stored: Stored): void {
    createFolder(dirname(this.#file), 0o700);
    const draft = `${this.#file}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ url: this.#url.href, ...stored }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, this.#file);
  }
}

function loginDir(): string {
  const config = process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config');
  return process.env['SLUICE_MCP_DIR'] || join(config, 'sluice', 'mcp');
}

function plain(issuer: string): string {
  return issuer.replace(/\/$/, '');
}
