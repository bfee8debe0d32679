/** A certificate authority for one test, made with the `openssl` command. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

export interface CertificatePair {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: string;
  readonly key: string;
}

export interface TestAuthority {
  readonly caFile: string;
  readonly ca: string;
  /** A certificate for servers (the given DNS names and IP addresses) and clients alike. */
  issue(commonName: string, alternativeNames?: readonly string[]): CertificatePair;
}

/** Writes the authority and what it issues into `folder`, which the caller removes. */
export function createTestAuthority(folder: string, name = "ca"): TestAuthority {
  const caFile = join(folder, `${name}.pem`);
  const caKey = join(folder, `${name}.key`);
  openssl(["req", "-x509", ...newKey(caKey), "-out", caFile, "-days", "2", "-subj", `/CN=${name}`]);
  return {
    caFile,
    ca: readFileSync(caFile, "utf8"),
    issue(commonName, alternativeNames = []) {
      const base = join(folder, `${name}-${commonName}`);
      const [certFile, keyFile, request, extensions] = [
        `${base}.pem`,
        `${base}.key`,
        `${base}.csr`,
        `${base}.ext`,
      ];
      openssl(["req", "-new", ...newKey(keyFile), "-out", request, "-subj", `/CN=${commonName}`]);
      const lines = ["extendedKeyUsage=serverAuth,clientAuth"];
      if (alternativeNames.length > 0) lines.push(`subjectAltName=${alternativeNames.join(",")}`);
      writeFileSync(extensions, lines.join("\n"));
      const sign = ["-CA", caFile, "-CAkey", caKey, "-CAcreateserial", "-extfile", extensions];
      openssl(["x509", "-req", "-in", request, "-out", certFile, "-days", "2", ...sign]);
      return {
        certFile,
        keyFile,
        cert: readFileSync(certFile, "utf8"),
        key: readFileSync(keyFile, "utf8"),
      };
    },
  };
}

function newKey(file: string): string[] {
  return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", file];
}

function openssl(args: readonly string[]): void {
  execFileSync("openssl", args, { stdio: ["ignore", "ignore", "pipe"] });
}
