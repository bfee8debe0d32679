/**
 * What etcd's errors mean here: a storage error code, and for people a sentence on what to do.
 *
 * etcd tells its errors apart by text (api/v3rpc/rpctypes/error.go); the texts are the same from 3.4 to 3.6.
 */
import { StorageError, type StorageErrorCode, type StorageErrorDetails } from "../errors.ts";
import { type GrpcError, grpcCode } from "./grpc/index.ts";

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

/** The token is not valid any more, or was made before the users changed. */
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

/** A read that failed like this may succeed if it is asked again, perhaps of another member. */
export function isTransient(error: GrpcError): boolean {
  return (
    error.code === grpcCode.unavailable ||
    error.code === grpcCode.deadlineExceeded ||
    error.message.includes("too many requests")
  );
}

/** The member itself is the problem, so another one should be asked. */
export function isMemberFault(error: GrpcError): boolean {
  return (
    (error.code === grpcCode.unavailable && !error.message.includes("leader changed")) ||
    error.code === grpcCode.deadlineExceeded
  );
}
