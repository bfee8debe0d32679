/** For tests: a certificate signing request created by openssl. */
import { execFileSync } from "node:child_process";

const newKey = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];

/** PEM in base64, as the API takes it; its key is discarded. */
export function opensslRequest(subject: string): string {
  const args = ["req", "-new", ...newKey, "-subj", subject, "-keyout", "/dev/null"];
  return execFileSync("openssl", args, { stdio: ["ignore", "pipe", "ignore"] }).toString("base64");
}
