/**
 * Kubeconfig: clusters, users, and contexts that join them. It parses text; files that the text
 * names are not opened here.
 *
 * An untrusted kubeconfig could name any file of this machine and any command to run on it. So
 * unless the text is from this machine's own disk, it is read as `inline`: all data must be in the
 * text itself, and a reference is an error.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import * as yaml from "js-yaml";
import { type ExecSettings, readExec } from "./exec-settings.ts";
import { Fields, KubeconfigError } from "./fields.ts";

export interface Kubeconfig {
  readonly currentContext: string | undefined;
  readonly clusters: ReadonlyMap<string, ClusterEntry>;
  readonly users: ReadonlyMap<string, UserEntry>;
  readonly contexts: ReadonlyMap<string, ContextEntry>;
}

export interface ClusterEntry {
  readonly server: string;
  readonly tlsServerName: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  readonly certificateAuthority: FileOrData | undefined;
  readonly proxyUrl: string | undefined;
  readonly disableCompression: boolean;
  /** The cluster's extension for exec plugins. */
  readonly execConfig: JsonValue | undefined;
}

export interface UserEntry {
  readonly clientCertificate: FileOrData | undefined;
  readonly clientKey: FileOrData | undefined;
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
  readonly impersonate: Impersonation | undefined;
  readonly exec: ExecSettings | undefined;
}

export interface ContextEntry {
  readonly cluster: string;
  readonly user: string | undefined;
  readonly namespace: string | undefined;
}

export interface Impersonation {
  readonly user: string;
  readonly uid?: string | undefined;
  readonly groups?: readonly string[];
  readonly extra?: ReadonlyMap<string, readonly string[]>;
}

/** Inline data takes precedence over the file, as in kubectl. */
export type FileOrData = { readonly data: string } | { readonly file: string };

export interface ParseOptions {
  /**
   * `inline`: an untrusted text, without files and commands. `trusted`: this machine's own file;
   * `resolvePath` makes relative paths absolute.
   */
  readonly trust: "inline" | { readonly resolvePath: (path: string) => string };
}

/** A kubeconfig is a few kilobytes; one of a thousand clusters is a few megabytes. */
export const kubeconfigCharactersMax = 16 << 20;

export function parseKubeconfig(text: string, { trust }: ParseOptions): Kubeconfig {
  if (text.length > kubeconfigCharactersMax) {
    throw new KubeconfigError(`kubeconfig is longer than ${kubeconfigCharactersMax} characters`);
  }
  const root = new Fields(parseYaml(text), "kubeconfig");
  const reader = new EntryReader(trust);
  return {
    currentContext: root.text("current-context"),
    clusters: byName(root, "clusters", "cluster", (fields) => reader.cluster(fields)),
    users: byName(root, "users", "user", (fields) => reader.user(fields)),
    contexts: byName(root, "contexts", "context", (fields) => ({
      cluster: fields.text("cluster") ?? "",
      user: fields.text("user"),
      namespace: fields.text("namespace"),
    })),
  };
}

/**
 * kubectl's rule: of entries with the same name that of the first file counts; the fields of
 * entries are not merged.
 */
export function mergeKubeconfigs(configs: readonly Kubeconfig[]): Kubeconfig {
  const merge = <Entry>(pick: (config: Kubeconfig) => ReadonlyMap<string, Entry>) => {
    const merged = new Map<string, Entry>();
    for (const config of configs) {
      for (const [name, entry] of pick(config)) if (!merged.has(name)) merged.set(name, entry);
    }
    return merged;
  };
  return {
    currentContext: configs.find(({ currentContext }) => currentContext)?.currentContext,
    clusters: merge(({ clusters }) => clusters),
    users: merge(({ users }) => users),
    contexts: merge(({ contexts }) => contexts),
  };
}

class EntryReader {
  readonly #trust: ParseOptions["trust"];

  constructor(trust: ParseOptions["trust"]) {
    this.#trust = trust;
  }

  cluster(fields: Fields): ClusterEntry {
    const execExtension = fields
      .objects("extensions")
      .find((extension) => extension.text("name") === "client.authentication.k8s.io/exec");
    return {
      server: fields.requiredText("server"),
      tlsServerName: fields.text("tls-server-name"),
      insecureSkipTlsVerify: fields.flag("insecure-skip-tls-verify"),
      certificateAuthority: this.#fileOrData(fields, "certificate-authority"),
      proxyUrl: fields.text("proxy-url"),
      disableCompression: fields.flag("disable-compression"),
      execConfig: execExtension?.raw("extension"),
    };
  }

  user(fields: Fields): UserEntry {
    if (fields.object("auth-provider") !== undefined) {
      throw new KubeconfigError("auth-provider is no longer supported, use exec instead");
    }
    const exec = fields.object("exec");
    if (exec !== undefined && this.#trust === "inline") {
      throw new KubeconfigError("exec is not allowed in a kubeconfig that is not from a file");
    }
    return {
      clientCertificate: this.#fileOrData(fields, "client-certificate"),
      clientKey: this.#fileOrData(fields, "client-key"),
      token: fields.text("token"),
      tokenFile: this.#path(fields, "tokenFile"),
      username: fields.text("username"),
      password: fields.text("password"),
      impersonate: readImpersonation(fields),
      exec: exec === undefined ? undefined : readExec(exec, (path) => this.#resolve(path)),
    };
  }

  #fileOrData(fields: Fields, name: string): FileOrData | undefined {
    const encoded = fields.text(`${name}-data`);
    if (encoded !== undefined) return { data: Buffer.from(encoded, "base64").toString("utf8") };
    const file = this.#path(fields, name);
    return file === undefined ? undefined : { file };
  }

  #path(fields: Fields, name: string): string | undefined {
    const path = fields.text(name);
    if (path === undefined) return undefined;
    if (this.#trust === "inline") {
      throw new KubeconfigError(`${name} is not allowed in a kubeconfig that is not from a file`);
    }
    return this.#resolve(path);
  }

  #resolve(path: string): string {
    return this.#trust === "inline" ? path : this.#trust.resolvePath(path);
  }
}

function parseYaml(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return yaml.load(text) ?? {};
  } catch (error) {
    throw notYaml(error);
  }
}

/** Without the parser's message and error: these show the text, which has credentials. */
export function notYaml(error: unknown): KubeconfigError {
  if (!(error instanceof yaml.YAMLException)) throw error;
  const { reason, mark } = error;
  const place = mark === undefined ? "" : ` (line ${mark.line + 1}, column ${mark.column + 1})`;
  return new KubeconfigError(`kubeconfig is not YAML: ${reason}${place}`);
}

function byName<Entry>(
  root: Fields,
  list: string,
  inner: string,
  read: (fields: Fields) => Entry,
): Map<string, Entry> {
  const entries = new Map<string, Entry>();
  for (const item of root.objects(list)) {
    const name = item.requiredText("name");
    const fields = item.object(inner) ?? new Fields({}, `${list}[${name}].${inner}`);
    if (!entries.has(name)) entries.set(name, read(fields));
  }
  return entries;
}

function readImpersonation(fields: Fields): Impersonation | undefined {
  const user = fields.text("as");
  const uid = fields.text("as-uid");
  const groups = fields.texts("as-groups");
  const extraFields = fields.object("as-user-extra");
  if (user === undefined) {
    if (uid !== undefined || groups.length > 0 || extraFields !== undefined) {
      throw new KubeconfigError("as-uid, as-groups and as-user-extra need as");
    }
    return undefined;
  }
  const extra = new Map<string, readonly string[]>();
  for (const key of extraFields?.names() ?? []) extra.set(key, extraFields?.texts(key) ?? []);
  return { user, uid, groups, extra };
}
