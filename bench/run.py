"""Runs our driver beside its peers in one interleaved run; see README.md."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "harness"))
import run

DRIVER = str(HERE / "stoic_driver.py")  # absolute, so that the runner's own folder of drivers does not matter
run.DRIVERS |= {
    "stoic": ("stoic", DRIVER, "", "w1 w2 w3 w4 w5 w6 w7"),
    "stoic undeclared": ("stoic", DRIVER, "--opt effect=write", "w1 w7"),
}

if __name__ == "__main__":
    run.main()
