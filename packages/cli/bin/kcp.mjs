#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=131072 MALLOC_MMAP_THRESHOLD_=262144 node --max-semi-space-size=8 --v8-pool-size=0
// A nursery of a bounded size: what a request allocates is garbage when it is answered, and
// collections stay short (ADR 0041). Threads of the engine for spare processors only (ADR 0038).
// And a C library that gives back what a load has taken (ADR 0055).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
