/**
 * The label that the control plane sets on objects whose owner accepted the compute workspace's
 * permission claim, and removes when the claim is no longer accepted. No client can set it.
 */
import { createHash } from "node:crypto";
import { computeExportName } from "./compute-export.ts";

const alphabet = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

export function consentLabel(cluster: string): string {
  const hash = createHash("sha224").update(`${cluster}:${computeExportName}`).digest("hex");
  let text = "";
  for (let rest = BigInt(`0x${hash}`); rest > 0n; rest /= 62n)
    text = alphabet.charAt(Number(rest % 62n)) + text;
  return `claimed.internal.apis.kcp.io/${text}`;
}
