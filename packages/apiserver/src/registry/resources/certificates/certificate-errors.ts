/** Validates a chain of PEM certificates without other PEM blocks. */
import { X509Certificate } from "node:crypto";
import { quote } from "@kcp-ts/machinery/status";
import { nextPemBlock } from "./pem.ts";

/** Parsing a certificate takes some tens of microseconds; no chain is this long. */
export const certificateBlocksMax = 100;

/** The error in the certificates, or undefined. Text outside of blocks is a comment, as in Go. */
export function certificatesError(pem: string): string | undefined {
  let blocks = 0;
  for (let at = 0; ; blocks++) {
    const block = nextPemBlock(pem, at);
    if (block === undefined) break;
    if (blocks === certificateBlocksMax)
      return `must not contain more than ${certificateBlocksMax} CERTIFICATE PEM blocks`;
    if (block.type !== "CERTIFICATE")
      return `only CERTIFICATE PEM blocks are allowed, found ${quote(block.type)}`;
    if (block.body.includes(":")) return "no PEM block headers are permitted";
    if (!isCertificate(Buffer.from(block.body, "base64"))) return "x509: malformed certificate";
    at = block.end;
  }
  return blocks === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).serialNumber !== "";
  } catch (error) {
    if (error instanceof Error) return false;
    throw error;
  }
}
