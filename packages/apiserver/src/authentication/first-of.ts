/**
 * Asks one after the other until one knows the user.
 *
 * A refusal does not end the search, since a later one may still accept (a client may show a stale certificate and a good
 * token); if none does, the first refusal stands. Stays synchronous as long as the answers are.
 */
import type { MaybePromise } from "./authenticator.ts";
import { type AuthenticationError, isAuthenticationError } from "./errors.ts";

export function firstOf<Source, Answer extends object>(
  sources: readonly Source[],
  ask: (source: Source) => MaybePromise<Answer | undefined>,
  start = 0,
  refusal?: AuthenticationError,
): MaybePromise<Answer | undefined> {
  for (let at = start; at < sources.length; at++) {
    try {
      const answer = ask(sources[at] as Source);
      if (answer instanceof Promise) return answer.then(next(at), failed(at));
      if (answer !== undefined) return answer;
    } catch (error) {
      refusal = refusalOrThrow(error, refusal);
    }
  }
  if (refusal !== undefined) throw refusal;
  return undefined;

  function next(at: number) {
    return (answer: Answer | undefined) => answer ?? firstOf(sources, ask, at + 1, refusal);
  }

  function failed(at: number) {
    return (error: unknown) => firstOf(sources, ask, at + 1, refusalOrThrow(error, refusal));
  }
}

function refusalOrThrow(
  error: unknown,
  earlier: AuthenticationError | undefined,
): AuthenticationError {
  if (!isAuthenticationError(error)) throw error;
  return earlier ?? error;
}
