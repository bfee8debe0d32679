/**
 * Has the C library give back what it keeps of freed memory.
 *
 * glibc returns only what is free at the end of its heap: one block that is in use there keeps all that is free below it, for ever, and after everything was read through
 * once that is more than what is in use. `malloc_trim` gives back the rest, too (ADR 0055). Other libraries do so by themselves, or cannot.
 */

/** Resolves to whether anything was given back. It runs beside this thread, which waits only if it asks for memory meanwhile: 5 ms for 25 MB. */
export type TrimAllocator = () => Promise<boolean>;

/** Undefined where there is nobody to ask: another C library, another system, or a Node that does not load native parts. */
export async function allocatorTrimmer(): Promise<TrimAllocator | undefined> {
  if (process.platform !== "linux") return undefined;
  const trim = await glibcTrim().catch(() => undefined);
  if (trim === undefined) return undefined;
  return () =>
    new Promise((resolve) => {
      // A call that could not be made has given nothing back, and is no reason for a server to end.
      trim.async(0, (error: unknown, isGivenBack: number) => resolve(!error && isGivenBack === 1));
    });
}

async function glibcTrim() {
  const { default: koffi } = await import("koffi");
  return koffi.load("libc.so.6").func("int malloc_trim(size_t)");
}
