"""Idle memory, and the time from start to ready, of a service with an empty library.

    python3.11 tests/bench/memory.py --carrel target/release/carrel --models ~/.cache/carrel/models

Memory is that of the process in MiB, ten seconds after it is ready: VmRSS is all resident memory, RssAnon the
anonymous part (the system can reclaim mapped files). The service is ready when /readyz returns 200, polled every two
milliseconds. The first start creates the database, the others open it. The service is ready before a model is
loaded; the time until then is reported separately.
"""

import statistics
import time

from service import UNLIMITED, Service, arguments, folder, machine, say

SETTLED = 10
STARTS = 7


def measure(program: str, name: str, settings: dict[str, object]) -> None:
    with folder() as home:
        service = Service(program, home, UNLIMITED | settings)
        try:
            first = service.start()
            model = settings and await_model(service)
            time.sleep(SETTLED)
            idle = service.memory()
            service.stop()
            starts = []
            for _ in range(STARTS):
                starts.append(service.start())
                service.stop()
        finally:
            service.stop()
    say(service=name, first_ready_ms=round(first), ready_ms_p50=round(statistics.median(starts)),
        ready_ms_min=round(min(starts)), **({"model_after_ms": round(model)} if model else {}), **idle)


def await_model(service: Service) -> float:
    """Milliseconds from ready until the model is loaded."""
    began = time.perf_counter()
    service.await_model()
    return (time.perf_counter() - began) * 1000


if __name__ == "__main__":
    args = arguments(__doc__, data=False).parse_args()
    machine()
    measure(args.carrel, "without models", {})
    if args.models:
        measure(args.carrel, "with models", {"models.dir": args.models})
    machine()
