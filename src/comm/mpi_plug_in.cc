// The plug-in of one MPI ABI.
#include "comm/mpi_wire.h"

extern "C" hagane::comm::Wire* hagane_open_wire() { return hagane::comm::OpenMpiWire().release(); }
