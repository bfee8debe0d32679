/**
 * The console: a page at /console/ that speaks the API with the user's own credentials. These are
 * its files and policies; it has no endpoint of its own, and no permissions.
 */
import { access } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { StaticSite } from "./static-site.ts";

export interface ConsoleOptions {
  /** False: no console. */
  readonly console?: boolean | undefined;
  /** The issuer of the console's OIDC login; that of `oidcIssuerUrl` if omitted. */
  readonly consoleOidcIssuerUrl?: string | undefined;
  /** A public client of the issuer; that of `oidcClientId` if omitted. */
  readonly consoleOidcClientId?: string | undefined;
  readonly consoleOidcScopes?: readonly string[] | undefined;
}

/** What the page reads first. */
export interface ConsoleConfiguration {
  /** `token`: the page adds the user's token; `proxy`: a local proxy adds the credentials. */
  readonly authentication: "token" | "proxy";
  readonly oidc?: ConsoleIssuer | undefined;
  /** The workspace that the page opens. */
  readonly workspace?: string | undefined;
}

interface ConsoleIssuer {
  readonly issuer: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** Beside the bundle, beside the modules of the npm package, and in a checkout. */
const places = ["./console/", "../console/", "../../../console/dist/site/"];

async function findFolder(): Promise<string | undefined> {
  for (const place of places) {
    const folder = fileURLToPath(new URL(place, import.meta.url));
    const isThere = await access(`${folder}/index.html`).then(
      () => true,
      () => false,
    );
    if (isThere) return folder;
  }
  return undefined;
}

export function consoleSite(configuration: ConsoleConfiguration): StaticSite {
  const { oidc } = configuration;
  const connect = oidc === undefined ? "'self'" : `'self' ${new URL(oidc.issuer).origin}`;
  return new StaticSite({
    prefix: "/console/",
    folder: findFolder,
    headers: {
      "content-security-policy": [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        `connect-src ${connect}`,
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
      ].join("; "),
      "cross-origin-opener-policy": "same-origin",
      "cross-origin-resource-policy": "same-origin",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
    },
    documents: { "config.json": () => configuration },
  });
}

/** The console of a server; undefined where it is off. */
export function consoleOfServer(
  options: ConsoleOptions & {
    readonly oidcIssuerUrl?: string | undefined;
    readonly oidcClientId?: string | undefined;
  },
): StaticSite | undefined {
  if (options.console === false) return undefined;
  const issuer = options.consoleOidcIssuerUrl ?? options.oidcIssuerUrl;
  const clientId = options.consoleOidcClientId ?? options.oidcClientId;
  const scopes = options.consoleOidcScopes ?? ["openid", "profile", "email"];
  const oidc = issuer && clientId ? { issuer, clientId, scopes } : undefined;
  return consoleSite({ authentication: "token", oidc });
}
