/**
 * The lifetime of a CertificateSigningRequest: long enough for the requester to fetch the
 * certificate, or to see why there is none.
 */
import type { CertificateSigningRequest } from "../api/index.ts";

const hourMs = 60 * 60 * 1000;

/** Kubernetes' values: after a decision, and without one. */
export const decidedAgeMaxMs = hourMs;
export const pendingAgeMaxMs = 24 * hourMs;

/** When the request is deleted, in milliseconds since the epoch. */
export function endOf({ metadata, status }: CertificateSigningRequest): number {
  const createdAt = Date.parse(metadata.creationTimestamp ?? "") || 0;
  const ends = [createdAt + pendingAgeMaxMs];
  for (const { type, lastUpdateTime } of status?.conditions ?? []) {
    const isFinal =
      type === "Denied" ||
      type === "Failed" ||
      (type === "Approved" && (status?.certificate ?? "") !== "");
    if (isFinal) ends.push((Date.parse(lastUpdateTime ?? "") || createdAt) + decidedAgeMaxMs);
  }
  return Math.min(...ends);
}
