#!/usr/bin/env -S MALLOC_ARENA_MAX=2 MALLOC_TRIM_THRESHOLD_=4194304 MALLOC_MMAP_THRESHOLD_=4194304 node --max-semi-space-size=16 --v8-pool-size=0
// A larger nursery: what a request allocates is garbage when it is answered, and is not copied. And a C library that gives back what a load has taken (ADR 0043).
import { programs } from "./bundle.mjs";

await programs.main(process.argv);
