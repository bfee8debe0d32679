/** The operator's certificates: from flags to the listener, and again when the files change. */
import type { Listener, NamedTlsMaterial, TlsMaterial, TlsVersion } from "@kcp-ts/apiserver";
import { type FileWatch, type KeyPair, loadKeyPair } from "@kcp-ts/pki";
import { OptionsError } from "../options.ts";

export interface TlsOptions {
  readonly tlsCertFile?: string | undefined;
  readonly tlsPrivateKeyFile?: string | undefined;
  /**
   * `certificate,key` or `certificate,key:name,name`: for clients that request these names by SNI,
   * or those in the certificate.
   */
  readonly tlsSniCertKeys?: readonly string[] | undefined;
  /** `VersionTLS12` (the default) or `VersionTLS13`. */
  readonly tlsMinVersion?: string | undefined;
}

export interface OperatorTls {
  /** Undefined: kcp creates and renews its own certificate. */
  readonly own: TlsMaterial | undefined;
  readonly named: readonly NamedTlsMaterial[];
  readonly minVersion: TlsVersion;
  /** From now on changed files are used within seconds, without a restart. */
  follow(listener: Listener, files: FileWatch): Promise<void>;
}

interface NamedFiles {
  readonly certificateFile: string;
  readonly privateKeyFile: string;
  /** Empty: the names in the certificate. */
  readonly names: readonly string[];
}

export async function loadTls(options: TlsOptions): Promise<OperatorTls> {
  const ownFiles = ownFilesOf(options);
  const namedFiles = (options.tlsSniCertKeys ?? []).map(parseSniFlag);
  const loadNamed = () => Promise.all(namedFiles.map(loadNamedPair));
  return {
    own: ownFiles === undefined ? undefined : await loadKeyPair(ownFiles),
    named: await loadNamed(),
    minVersion: versionOf(options.tlsMinVersion),
    async follow(listener, files) {
      if (ownFiles !== undefined) {
        await files.watch(pathsOf(ownFiles), async () =>
          listener.reload(await loadKeyPair(ownFiles)),
        );
      }
      if (namedFiles.length > 0) {
        await files.watch(namedFiles.flatMap(pathsOf), async () =>
          listener.reloadNamed(await loadNamed()),
        );
      }
    },
  };
}

function ownFilesOf({ tlsCertFile, tlsPrivateKeyFile }: TlsOptions) {
  if (tlsCertFile === undefined && tlsPrivateKeyFile === undefined) return undefined;
  if (tlsCertFile === undefined || tlsPrivateKeyFile === undefined) {
    throw new OptionsError(
      "--tls-cert-file and --tls-private-key-file go together: give both or neither",
    );
  }
  return { certificateFile: tlsCertFile, privateKeyFile: tlsPrivateKeyFile };
}

function parseSniFlag(text: string): NamedFiles {
  const [files = "", names = ""] = text.split(":", 2);
  const [certificateFile = "", privateKeyFile = "", ...more] = files.split(",");
  if (certificateFile === "" || privateKeyFile === "" || more.length > 0) {
    throw new OptionsError("--tls-sni-cert-key takes certificate,key or certificate,key:name,name");
  }
  return { certificateFile, privateKeyFile, names: names.split(",").filter((one) => one !== "") };
}

async function loadNamedPair(files: NamedFiles): Promise<NamedTlsMaterial> {
  const pair = await loadKeyPair(files);
  return { ...pair, names: files.names.length > 0 ? files.names : namesIn(pair) };
}

function namesIn({ certificate }: KeyPair): string[] {
  return [...(certificate.subjectAltName ?? "").matchAll(/DNS:([^,\s]+)/g)].map(
    ([, name]) => name as string,
  );
}

function pathsOf({ certificateFile, privateKeyFile }: Omit<NamedFiles, "names">): string[] {
  return [certificateFile, privateKeyFile];
}

function versionOf(text = "VersionTLS12"): TlsVersion {
  if (text === "VersionTLS12") return "TLSv1.2";
  if (text === "VersionTLS13") return "TLSv1.3";
  throw new OptionsError("--tls-min-version takes VersionTLS12 or VersionTLS13");
}
