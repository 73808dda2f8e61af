package statement

import "github.com/pgairlock/pgairlock/policy/catalog"

// OIDs of built-in types that the rules of type resolution name. They are
// fixed in PostgreSQL's pg_type.dat.
const (
	anything catalog.OID = 0 // not a type: nothing is known about it

	boolOID        catalog.OID = 16
	nameOID        catalog.OID = 19
	int8OID        catalog.OID = 20
	int2OID        catalog.OID = 21
	int4OID        catalog.OID = 23
	textOID        catalog.OID = 25
	oidOID         catalog.OID = 26
	tidOID         catalog.OID = 27
	xidOID         catalog.OID = 28
	cidOID         catalog.OID = 29
	jsonOID        catalog.OID = 114
	xmlOID         catalog.OID = 142
	unknownOID     catalog.OID = 705
	bpcharOID      catalog.OID = 1042
	varcharOID     catalog.OID = 1043
	dateOID        catalog.OID = 1082
	timeOID        catalog.OID = 1083
	timestampOID   catalog.OID = 1114
	timestamptzOID catalog.OID = 1184
	timetzOID      catalog.OID = 1266
	bitOID         catalog.OID = 1560
	numericOID     catalog.OID = 1700
	regclassOID    catalog.OID = 2205
	recordOID      catalog.OID = 2249
	recordArrayOID catalog.OID = 2287
	voidOID        catalog.OID = 2278
	internalOID    catalog.OID = 2281
	jsonbOID       catalog.OID = 3802

	anyOID                     catalog.OID = 2276
	anyArrayOID                catalog.OID = 2277
	anyElementOID              catalog.OID = 2283
	anyNonArrayOID             catalog.OID = 2776
	anyEnumOID                 catalog.OID = 3500
	anyRangeOID                catalog.OID = 3831
	anyMultirangeOID           catalog.OID = 4537
	anyCompatibleMultirangeOID catalog.OID = 4538
	anyCompatibleOID           catalog.OID = 5077
	anyCompatibleArrayOID      catalog.OID = 5078
	anyCompatibleNonArrayOID   catalog.OID = 5079
	anyCompatibleRangeOID      catalog.OID = 5080
)

// rangeElement is the element type of the built-in range and multirange types.
func rangeElement(t catalog.OID) catalog.OID {
	switch t {
	case 3904, 4451: // int4range, int4multirange
		return int4OID
	case 3906, 4532: // numrange
		return numericOID
	case 3908, 4533: // tsrange
		return timestampOID
	case 3910, 4534: // tstzrange
		return timestamptzOID
	case 3912, 4535: // daterange
		return dateOID
	case 3926, 4536: // int8range
		return int8OID
	}
	return anything
}

// polymorphic says whether t is one of the pseudo-types that stand for the
// type of an argument.
func polymorphic(t catalog.OID) bool {
	switch t {
	case anyElementOID, anyArrayOID, anyNonArrayOID, anyEnumOID, anyRangeOID, anyMultirangeOID,
		anyCompatibleOID, anyCompatibleArrayOID, anyCompatibleNonArrayOID, anyCompatibleRangeOID,
		anyCompatibleMultirangeOID:
		return true
	}
	return false
}
