/**
 * Maps etcd's errors to a storage error code, and a message with the next step to take.
 *
 * etcd's errors are distinguished by their text (api/v3rpc/rpctypes/error.go); the texts are the
 * same from 3.4 to 3.6.
 */

import { type GrpcError, grpcCode } from "../../grpc/index.ts";
import { StorageError, type StorageErrorCode, type StorageErrorDetails } from "../errors.ts";

interface Meaning {
  readonly text: string;
  readonly code: StorageErrorCode;
  readonly advice?: string;
}

const meanings: readonly Meaning[] = [
  { text: "required revision has been compacted", code: "compacted" },
  { text: "required revision is a future revision", code: "future" },
  {
    text: "request is too large",
    code: "too-large",
    advice: "the limit is etcd's --max-request-bytes",
  },
  {
    text: "received message larger than max",
    code: "too-large",
    advice: "the limit is etcd's --max-request-bytes",
  },
  {
    text: "database space exceeded",
    code: "unavailable",
    advice:
      "etcd's quota is used up: compact and defragment it or raise --quota-backend-bytes, then run `etcdctl alarm disarm`",
  },
  { text: "no leader", code: "unavailable", advice: "check that most etcd members run" },
  { text: "leader changed", code: "unavailable", advice: "try again" },
  { text: "request timed out", code: "unavailable", advice: "check etcd's disk and network" },
  { text: "too many requests", code: "unavailable", advice: "etcd is overloaded, try again later" },
  {
    text: "permission denied",
    code: "unavailable",
    advice: "grant the etcd user readwrite on the prefix",
  },
  {
    text: "user name is empty",
    code: "unavailable",
    advice: "etcd wants a username and a password",
  },
  {
    text: "invalid user ID or password",
    code: "unavailable",
    advice: "check username and password",
  },
  { text: "corrupt", code: "unavailable", advice: "see etcd's CORRUPT alarm" },
];

export function toStorageError(
  error: GrpcError,
  operation: string,
  details: Omit<StorageErrorDetails, "cause"> = {},
): StorageError {
  const meaning = meanings.find(({ text }) => error.message.includes(text));
  const advice = meaning?.advice === undefined ? "" : `; ${meaning.advice}`;
  return new StorageError(
    meaning?.code ?? "unavailable",
    `etcd ${operation}: ${error.message || `status ${error.code}`}${advice}`,
    { ...details, cause: error },
  );
}

/** Whether the token has expired, or was issued before the users changed. */
export function isStaleToken(error: GrpcError): boolean {
  return (
    error.delivery === "answered" &&
    (error.code === grpcCode.unauthenticated ||
      error.message.includes("invalid auth token") ||
      error.message.includes("revision of auth store is old"))
  );
}

export function isNoSpace(error: GrpcError): boolean {
  return error.message.includes("database space exceeded");
}

/** Whether a retry of the read may succeed, possibly on another member. */
export function isTransient(error: GrpcError): boolean {
  return (
    error.code === grpcCode.unavailable ||
    error.code === grpcCode.deadlineExceeded ||
    error.message.includes("too many requests")
  );
}

/** Whether the member itself is at fault, so that another one should be used. */
export function isMemberFault(error: GrpcError): boolean {
  return (
    (error.code === grpcCode.unavailable && !error.message.includes("leader changed")) ||
    error.code === grpcCode.deadlineExceeded
  );
}
